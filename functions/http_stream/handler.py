"""The routes whose responses are streamed. `bootstrap` starts this file in place of AWS's runtime client."""

from parlour.bootstrap.http_api import build_http_stream
from parlour.infra import streaming_runtime

if __name__ == "__main__":
    streaming_runtime.serve(build_http_stream)
