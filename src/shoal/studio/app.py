"""The application: which screen answers which request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from shoal.errors import ShoalError, place_of
from shoal.studio import attacking, levels, preparing, publishing, screens, series
from shoal.studio.guard import HIERARCHY_PATH, REPORT_POLICY, UPLOAD_PATH
from shoal.studio.pages import page
from shoal.studio.state import Studio, Waiting
from shoal.studio.voice import SCREENS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

__all__ = ["application"]

_ASSETS = {
    "studio.css": (Path(__file__).parent / "assets/studio.css", "text/css"),
    "studio.js": (Path(__file__).parent / "assets/studio.js", "text/javascript"),
    "icon.svg": (Path(__file__).parent / "assets/icon.svg", "image/svg+xml"),
    "report.css": (Path(__file__).parents[1] / "report/templates/style.css", "text/css"),
}
"""Everything that a page loads; the palette is that of the reports."""
_MOST_FIELDS = 20_000
_TYPES = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}


def application(studio: Studio) -> Starlette:
    """Return the application that shows and changes the state of a studio; `Guard` belongs before it."""
    shown = {
        "/": screens.opening,
        "/columns": screens.columns,
        "/risk": screens.risk,
        "/goal": screens.goal,
        "/coarser": preparing.coarser,
        "/shape": preparing.shape,
        "/compare": levels.compare,
        "/attack": attacking.attacks,
        "/publish": publishing.publishing,
        "/release": publishing.released,
        "/series": series.releases_of_series,
        "/history": screens.history,
    }
    changed = {
        "/open": screens.open_path,
        "/open/demo": screens.open_demo,
        "/columns": screens.set_columns,
        "/columns/values": screens.show_values,
        "/risk": screens.set_fraction,
        "/goal": screens.set_goal,
        "/coarser": preparing.set_coarser,
        "/shape": preparing.change_shape,
        "/shape/show": preparing.show_shape,
        "/shape/use": preparing.use_level,
        "/compare": levels.set_levels,
        "/compare/choose": levels.choose_level,
        "/compare/algorithms": levels.compare_algorithms,
        "/compare/algorithm": levels.choose_algorithm,
        "/attack": attacking.set_attack,
        "/attack/together": attacking.set_together,
        "/publish": publishing.publish,
        "/series": series.act_on_series,
        "/series/open": series.open_ledger,
        "/series/start": series.start,
        "/history": screens.go_back,
        "/cancel": publishing.cancel,
    }
    routes = [Route(path, _showing(studio, show), methods=["GET"]) for path, show in shown.items()]
    routes += [Route(path, _changing(studio, change), methods=["POST"]) for path, change in changed.items()]
    routes += [
        Route(UPLOAD_PATH, _dropped(studio), methods=["POST"]),
        Route("/goal/words", _words(studio), methods=["POST"]),
        Route(HIERARCHY_PATH, _hierarchy(studio), methods=["POST"]),
        Route("/hierarchy/{name}", _hierarchy_file(studio), methods=["GET"]),
        Route("/compare.svg", _picture(lambda _: levels.picture_of(studio)), methods=["GET"]),
        Route("/coarser/{name}.svg", _picture(lambda name: preparing.picture_of_coarsening(studio, name))),
        Route("/work", _work(studio), methods=["GET"]),
        Route("/release.toml", _spec(studio), methods=["GET"]),
        Route("/release/{side}/{name}", _file(studio), methods=["GET"]),
        Route("/close", _close(studio), methods=["POST"]),
        Route("/assets/{name}", _asset, methods=["GET"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: _not_there, 500: _broken})


def _showing(studio: Studio, show: Callable[[Studio, Mapping[str, str]], str | Waiting]) -> Handler:
    async def shown(request: Request) -> Response:
        answer = await run_in_threadpool(_answer, studio, show, dict(request.query_params))
        answer.background = BackgroundTask(studio.workshop.warm_up)  # once the first screen is there, and not before
        return answer

    return shown


def _changing(studio: Studio, change: Callable[[Studio, Mapping[str, str]], str]) -> Handler:
    """Return what handles a form: it changes the state, and leads to the next screen, or says why not."""

    async def changed(request: Request) -> Response:
        form = await _form(request)
        if form is None:
            return PlainTextResponse("This is no form of the studio.", status_code=400)
        return await run_in_threadpool(_changed, studio, change, form)

    return changed


def _changed(studio: Studio, change: Callable[[Studio, Mapping[str, str]], str], form: Mapping[str, str]) -> Response:
    try:
        with studio.lock:
            return RedirectResponse(change(studio, form), status_code=303)
    except ShoalError as error:
        return HTMLResponse(_problem(studio, error), status_code=422)


def _answer(
    studio: Studio, show: Callable[[Studio, Mapping[str, str]], str | Waiting], query: Mapping[str, str]
) -> Response:
    try:
        with studio.lock:
            found = show(studio, query)
    except ShoalError as error:
        return HTMLResponse(_problem(studio, error), status_code=422)
    if isinstance(found, Waiting):
        if found.path is not None:
            return RedirectResponse(found.path, status_code=303)
        return HTMLResponse(page("working.html.j2", studio, step=found.step, job=found.job, back=found.back))
    return HTMLResponse(found)


def _problem(studio: Studio, error: ShoalError) -> str:
    return page("problem.html.j2", studio, step="", message=error.told(SCREENS))


async def _form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form; None where it is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    try:
        text = (await request.body()).decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except (UnicodeDecodeError, ValueError):
        return None


def _dropped(studio: Studio) -> Handler:
    """Return what takes a file that was dropped into the page: its bytes are the body."""

    async def dropped(request: Request) -> Response:
        try:
            path = studio.places.kept(request.query_params.get("name", ""))
        except ShoalError as error:
            return PlainTextResponse(error.told(SCREENS), status_code=422)
        complete = False
        try:
            with path.open("xb") as file:
                async for part in request.stream():
                    file.write(part)
            complete = True
        finally:
            if not complete:
                studio.places.forget()
        screens.opened(studio, path)
        return PlainTextResponse("/columns")

    return dropped


def _words(studio: Studio) -> Handler:
    """Return what says in sentences what a goal means while somebody is still choosing it."""

    async def words(request: Request) -> Response:
        form = await _form(request) or {}
        try:
            sentences = await run_in_threadpool(screens.meaning_of, studio, form)
            return JSONResponse({"sentences": sentences, "error": None})
        except ShoalError as error:
            return JSONResponse({"sentences": [], "error": error.told(SCREENS)})

    return words


def _picture(drawn: Callable[[str], str | None]) -> Handler:
    """Return what hands out a drawing; drawings bring their style with them, and run nothing."""

    async def picture(request: Request) -> Response:
        try:
            found = await run_in_threadpool(drawn, request.path_params.get("name", ""))
        except ShoalError:
            found = None
        if found is None:
            return await _not_there(request, None)
        return Response(found, media_type="image/svg+xml", headers={"content-security-policy": REPORT_POLICY})

    return picture


def _hierarchy(studio: Studio) -> Handler:
    """Return what takes a file of a hierarchy: its bytes are the body."""

    async def taken(request: Request) -> Response:
        content = await request.body()
        column = request.query_params.get("column", "")

        def add() -> str:
            with studio.lock:
                return preparing.add_file(studio, column, content)

        try:
            return PlainTextResponse(await run_in_threadpool(add))
        except ShoalError as error:
            return PlainTextResponse(error.told(SCREENS), status_code=422)

    return taken


def _hierarchy_file(studio: Studio) -> Handler:
    """Return what hands out the file of a hierarchy that was made here."""

    async def handed(request: Request) -> Response:
        path = preparing.hierarchy_file(studio, request.path_params["name"])
        if path is None:
            return await _not_there(request, None)
        return FileResponse(path, filename=path.name, media_type="text/csv")

    return handed


def _work(studio: Studio) -> Handler:
    async def work(request: Request) -> Response:
        job = studio.workshop.job
        return JSONResponse(None if job is None else job.to_dict())

    return work


def _spec(studio: Studio) -> Handler:
    async def spec(request: Request) -> Response:
        text = screens.spec_text(studio)
        headers = {"content-disposition": 'attachment; filename="release.toml"'}
        return PlainTextResponse(text, headers=headers)

    return spec


def _file(studio: Studio) -> Handler:
    """Return what hands out the files of the last release, those for everybody and those for the publisher."""

    async def handed(request: Request) -> Response:
        path = studio.file_of_release(request.path_params["side"], request.path_params["name"])
        if path is None:
            return await _not_there(request, None)
        headers = {"content-security-policy": REPORT_POLICY}
        if "download" in request.query_params or path.suffix != ".html":
            return FileResponse(path, headers=headers, filename=path.name, media_type=_TYPES.get(path.suffix))
        return FileResponse(path, headers=headers, media_type="text/html")

    return handed


def _close(studio: Studio) -> Handler:
    async def close(request: Request) -> Response:
        await run_in_threadpool(studio.close)
        return HTMLResponse(page("closed.html.j2", studio, step=""))

    return close


async def _asset(request: Request) -> Response:
    found = _ASSETS.get(request.path_params["name"])
    if found is None:
        return await _not_there(request, None)
    return FileResponse(found[0], media_type=found[1])


async def _broken(request: Request, error: Exception) -> Response:
    told = f"Internal error: {place_of(error)}. This is a bug in shoal: please report it with this line."
    return PlainTextResponse(told, status_code=500)


async def _not_there(request: Request, error: Any) -> Response:
    return PlainTextResponse("There is no such page in the studio.", status_code=404)
