"""The API as a FastAPI application: the same one under a web server and inside a Lambda."""

from functools import cache

from fastapi import APIRouter, FastAPI

from parlour.api import error_responses, openapi
from parlour.api.dependencies import ApiDependencies
from parlour.api.feed_watch import FeedWatch
from parlour.api.middleware import MAX_BODY_BYTES, SecurityMiddleware
from parlour.api.routes import (
    administration,
    agui,
    approvals,
    attention,
    changes,
    chatwoot,
    configuration,
    console,
    conversations,
    costs,
    documents,
    embedded_chat,
    entities,
    erasures,
    files,
    inbox,
    inbox_context,
    memory,
    operations,
    phone_linking,
    prompts,
    pulse,
    record_links,
    reembedding,
    search,
    session_list,
    sessions,
    tool_calls,
    tool_results,
    turns,
)


def create_app(services: ApiDependencies) -> FastAPI:
    """Return every endpoint over `services`, and the console's files."""
    app = create_routes()
    app.state.services = services
    app.state.feed_watch = FeedWatch(services.databases)
    sign_in_origins = [origin for sign_in in services.sign_ins for origin in sign_in.origins]
    origins = dict.fromkeys((services.upload_bucket.origin, services.media_bucket.origin, *sign_in_origins))
    app.add_middleware(SecurityMiddleware, origins=" ".join(origins))
    app.mount("/console", console.console_files())
    return app


def create_routes() -> FastAPI:
    """Return every endpoint without anything to work on: enough to describe the API.

    Pages of documentation that load scripts from elsewhere are left out.
    """
    app = FastAPI(
        title="Parlour",
        summary="Conversations with grounded, cited agents.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    error_responses.install_error_handlers(app)
    app.router.routes.extend(_include_endpoints().routes)
    openapi.install_description(app)
    return app


@cache
def _include_endpoints() -> APIRouter:
    """Return the endpoints, included once per process: FastAPI builds those of a router at its first request."""
    router = APIRouter()
    for topic in (
        sessions,
        agui,
        session_list,
        conversations,
        phone_linking,
        record_links,  # before entities: `{id}/links` is no type and key
        pulse,
        entities,
        documents,
        files,
        erasures,
        turns,
        changes,
        prompts,
        tool_results,
        tool_calls,
        approvals,
        attention,
        inbox_context,
        inbox,
        chatwoot,
        costs,
        configuration,
        administration,
        memory,
        operations,
        reembedding,
        search,
        console,
        embedded_chat,
    ):
        router.include_router(topic.router, max_body_size=MAX_BODY_BYTES)
    return router
