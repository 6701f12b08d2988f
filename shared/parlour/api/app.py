"""The API as a FastAPI application: the same one under a web server and inside a Lambda."""

from fastapi import FastAPI

from parlour.api import problems
from parlour.api.edge import MAX_BODY_BYTES, SecurityMiddleware
from parlour.api.routes import (
    attention,
    configuration,
    console,
    costs,
    documents,
    entities,
    files,
    forgetting,
    links,
    memory,
    operations,
    people,
    phone,
    prompts,
    pulse,
    reembedding,
    search,
    sessions,
    threads,
    tool_results,
    turns,
)
from parlour.api.services import ApiDependencies


def create_app(services: ApiDependencies) -> FastAPI:
    """Every endpoint over `services`. Pages of documentation that load scripts from elsewhere are left out."""
    app = FastAPI(
        title="Parlour",
        summary="Conversations with grounded, cited agents.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    problems.install_error_handlers(app)
    origins = dict.fromkeys((services.upload_bucket.origin, services.media_bucket.origin))
    app.add_middleware(SecurityMiddleware, uploads=" ".join(origins))
    for topic in (
        sessions,
        threads,
        phone,
        links,  # before entities: `{id}/links` is no type and key
        pulse,
        entities,
        documents,
        files,
        forgetting,
        turns,
        prompts,
        tool_results,
        attention,
        costs,
        configuration,
        people,
        memory,
        operations,
        reembedding,
        search,
        console,
    ):
        app.include_router(topic.router, max_body_size=MAX_BODY_BYTES)
    app.mount("/console", console.console_files())
    return app
