"""All scenarios, and all that has to have one: read from the application, so that a new route is missed at once."""

from starlette.routing import Route

from mnemon.console.routers import CONSOLE_ROUTERS
from mnemon.jobs.store import RESERVATION
from support.walk.api_requests import API_SCENARIOS
from support.walk.form_requests import FORM_SCENARIOS
from support.walk.house import House, Stage
from support.walk.scenario import RequestScenario
from support.walk.tool_requests import SERVER_MEMORY, TOOL_SCENARIOS, listed_tools
from support.walk.work import WORK_SCENARIOS

REQUEST_SCENARIOS: tuple[RequestScenario, ...] = (*API_SCENARIOS, *TOOL_SCENARIOS, *FORM_SCENARIOS)
READS = frozenset({"GET", "HEAD", "OPTIONS"})


def writing_operations(house: House) -> set[str]:
    """Every operation of the OpenAPI document that is not a GET."""
    document = house.app.openapi()
    found = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    return {one for one in found if one.partition(" ")[0] not in READS}


def forms() -> set[str]:
    """Every page's route that takes a POST: the console's forms."""
    routes = [route for router in CONSOLE_ROUTERS for route in router.routes]
    return {f"FORM {route.path}" for route in routes if isinstance(route, Route) and "POST" in (route.methods or ())}


async def writing_tools(stage: Stage) -> set[str]:
    """Every MCP tool that does not say of itself that it only reads."""
    offered = [*await listed_tools(stage), *await listed_tools(stage, SERVER_MEMORY)]
    return {f"MCP {tool['name']}" for tool in offered if not tool["annotations"]["readOnlyHint"]}


def kinds_of_work(house: House) -> set[str]:
    """Every kind that a worker knows."""
    return {*house.kinds, RESERVATION}


def kinds_with_scenario() -> set[str]:
    return {one.kind for one in WORK_SCENARIOS}


def operations_with_scenario() -> set[str]:
    return {one.operation for one in REQUEST_SCENARIOS}
