"""The web application: the route of each screen, form and file."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from shoal._messages import set_audience
from shoal.errors import ShoalError, place_of
from shoal.studio import (
    attack_screen,
    coarsening_screens,
    comparison_screen,
    goal_screen,
    release_screens,
    review_screen,
    screens,
    series_screen,
    table_screen,
    value_screens,
)
from shoal.studio.allowed_paths import without_password
from shoal.studio.guard import HIERARCHY_PATH, REPORT_POLICY, UPLOAD_PATH
from shoal.studio.pages import page
from shoal.studio.rejected_forms import SubmittedForm, refused_page
from shoal.studio.state import Studio, UnconfirmedChange, Waiting
from shoal.studio.words import SCREENS

if TYPE_CHECKING:
    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

_ASSETS = {
    "studio.css": (Path(__file__).parent / "assets/studio.css", "text/css"),
    "studio.js": (Path(__file__).parent / "assets/studio.js", "text/javascript"),
    "icon.svg": (Path(__file__).parent / "assets/icon.svg", "image/svg+xml"),
    "report.css": (Path(__file__).parents[1] / "report/templates/style.css", "text/css"),
}
"""All files that pages load, by name, with their media types; `report.css` defines the palette."""
_ROW = str(SCREENS.called("header_row"))
"""The field of the screens that an error names if the names of columns may stand in another row."""
_PARTS = {"/open/reading": ("reading",), "/table/share": ("measured",)}
"""Words of the query that select the part of a screen with a form."""
_MAX_FORM_FIELDS = 20_000
"""Largest number of fields of a form that is parsed."""
_MEDIA_TYPES = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}


_FORMS: Mapping[str, Callable[[Studio, Mapping[str, str]], str]] = {
    "/open": screens.open_path,
    "/open/demo": screens.open_demo,
    "/open/project": screens.open_project,
    "/table": table_screen.set_table,
    "/open/reading": screens.choose_reading,
    "/table/cells": table_screen.show_cells,
    "/table/share": table_screen.set_fraction,
    "/table/column": value_screens.set_column,
    "/table/replace": value_screens.replace_values,
    "/table/derive": value_screens.derive_column,
    "/goal": goal_screen.set_goal,
    "/goal/mend": goal_screen.mend,
    "/goal/shape": coarsening_screens.change_shape,
    "/goal/shape/use": coarsening_screens.use_level,
    "/compare": comparison_screen.set_levels,
    "/compare/choose": comparison_screen.choose_level,
    "/compare/algorithms": comparison_screen.compare_algorithms,
    "/compare/algorithm": comparison_screen.choose_algorithm,
    "/attack": attack_screen.set_attack,
    "/attack/together": attack_screen.set_together,
    "/publish": release_screens.publish,
    "/series": series_screen.act_on_series,
    "/series/open": series_screen.open_ledger,
    "/series/start": series_screen.start,
    "/history": screens.go_back,
    "/review": review_screen.open_review,
    "/review/columns": review_screen.set_columns_of_review,
    "/review/attack": review_screen.attack_review,
    "/review/decision": review_screen.decide,
    "/cancel": release_screens.cancel,
}
"""The function of each form, which changes the state and returns the path of the next screen, by path."""


def application(studio: Studio) -> Starlette:
    """Create the application that shows and changes the state of a studio; serve it behind `Guard`."""
    shown = {
        "/": screens.opening,
        "/table": table_screen.table,
        "/goal": goal_screen.goal,
        "/compare": comparison_screen.compare,
        "/attack": attack_screen.attacks,
        "/publish": release_screens.publishing,
        "/release": release_screens.released,
        "/series": series_screen.releases_of_series,
        "/review": review_screen.review,
    }
    # Each path of a screen answers GET; a form has the path of its screen, or one below it.
    views = _Views(studio=studio, shown=shown)
    routes = [_route(path, partial(views.screen, path)) for path in shown]
    routes += [
        Route(path, _create_form_handler(views, path, change), methods=["POST"]) for path, change in _FORMS.items()
    ]
    # Routes with answers other than a screen: files, drawings, and what scripts of a page request.
    routes += [
        Route(UPLOAD_PATH, _create_upload_handler(views), methods=["POST"]),
        Route(HIERARCHY_PATH, _create_hierarchy_handler(views), methods=["POST"]),
        _route("/hierarchy/{name}", views.hierarchy_file),
        _route(
            "/goal/{name}.svg",
            lambda request: _draw(
                partial(coarsening_screens.picture_of_coarsening, studio, request.path_params["name"])
            ),
        ),
        _route("/work", views.progress),
        _route("/release.toml", views.spec),
        _route("/release.zip", views.release_zip),
        _route("/release/{side}/{name}", views.release_file),
        _route("/earlier/{name}/{side}", views.earlier_file),
        _route("/review/document", views.document),
        _route("/close", views.close, method="POST"),
        _route("/assets/{name}", _send_asset),
    ]
    return Starlette(routes=routes, exception_handlers={404: _report_missing_page, 500: _report_bug})


def _route(path: str, answer: Callable[[Request], Response], *, method: str = "GET") -> Route:
    """Route a path to a function, which runs in a thread because it may wait for the lock or for files."""

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(answer, request)

    return Route(path, handle, methods=[method])


@dataclass(frozen=True, kw_only=True)
class _Views:
    """The screens of a studio, and the rollback of changes that turn out to be invalid."""

    studio: Studio
    shown: Mapping[str, Callable[[Studio, Mapping[str, str]], str]]
    """The function that renders each screen, by path."""

    def change(self, sent: SubmittedForm, change: Callable[[], str]) -> str:
        """Change the state; roll the change back if it fails now or on the next screen.

        Returns
        -------
        str
            The path of the next screen.

        Raises
        ------
        ShoalError
            If the change fails now.
        """
        studio = self.studio
        with studio.lock:
            before = studio.decisions()
            try:
                target = change()
            except (ShoalError, Waiting) as error:
                studio.restore(before)
                if isinstance(error, Waiting):  # the screen of the form waits for a job itself
                    return _screen_of(sent.path)
                raise
            # The next screen may need a job that rejects the change: keep the old decisions until it has been shown.
            if sent.path != "/cancel" and studio.decisions() != before:
                studio.unconfirmed = UnconfirmedChange(sent=sent, before=before, target=re.split("[?#]", target)[0])
            studio.save()
            return target

    def show(self, path: str, query: Mapping[str, str]) -> Response:
        """Show a screen; the job that it waits for; or, if it fails, the form that led to it."""
        studio = self.studio
        with studio.lock, set_audience(SCREENS):
            unconfirmed, studio.pending = studio.unconfirmed, False
            follows = unconfirmed is not None and unconfirmed.target == path
            try:
                answer: Response = HTMLResponse(self.shown[path](studio, query))
            except Waiting as waiting:
                # No path: wait for the job. A path: that screen must be completed first.
                if waiting.path is None:
                    facts = {"job": waiting.job, "back": waiting.back}
                    return HTMLResponse(page("working.html.j2", studio, step=waiting.step, **facts))
                answer = RedirectResponse(waiting.path, 303)
            except ShoalError as error:
                # The last change is to blame only if it led to this very screen.
                if unconfirmed is None or not follows:
                    return self.problem(error)
                studio.unconfirmed = None
                if unconfirmed.sent.path == UPLOAD_PATH and _ROW in error.render(SCREENS):  # it is read in another way
                    return self.refuse(SubmittedForm(path="/open/reading", form={}), error)
                studio.restore(unconfirmed.before)
                studio.save()
                return self.refuse(unconfirmed.sent, error)
            # A part that is still being computed may find an error of the change.
            if follows and not studio.pending:
                studio.unconfirmed = None
            return answer

    def refuse(self, sent: SubmittedForm, error: ShoalError) -> Response:
        """Show the screen of a form again, with the typed values and the error."""
        path = _screen_of(sent.path)
        # These fields of a form select the part of the screen that it is on.
        query = {name: sent.form[name] for name in ("column", "level", "find") if name in sent.form}
        query |= dict.fromkeys(_PARTS.get(sent.path, ()), "yes")
        try:
            with self.studio.lock, set_audience(SCREENS):
                # If the screen cannot be shown either, the error gets a page of its own.
                found = self.shown[path](self.studio, query)
        except (ShoalError, Waiting, KeyError):
            return self.problem(error)
        # A typed database address may contain a password.
        shown_again = {name: without_password(one) if name == "path" else one for name, one in sent.form.items()}
        sent = replace(sent, form=shown_again)
        named = getattr(error, "field", None) or getattr(error, "parameter", None)
        return HTMLResponse(refused_page(found, sent, error.render(SCREENS), named=named), status_code=422)

    def problem(self, error: ShoalError) -> Response:
        """Show an error on a separate page with a link back."""
        text = page("problem.html.j2", self.studio, step="", message=error.render(SCREENS))
        return HTMLResponse(text, status_code=422)

    def screen(self, path: str, request: Request) -> Response:
        """Show a screen; what others need is loaded after the first one has been sent, which need not wait for it."""
        answer = self.show(path, dict(request.query_params))
        answer.background = BackgroundTask(self.warm_up)
        return answer

    def warm_up(self) -> None:
        """Start the worker, and import what the screens of a table need."""
        self.studio.worker.warm_up()
        import shoal.report
        import shoal.request.request  # noqa: F401

    def hierarchy_file(self, request: Request) -> Response:
        """Send the file of a hierarchy made in the studio."""
        return _send(coarsening_screens.hierarchy_file(self.studio, request.path_params["name"]), download=True)

    def progress(self, _: Request) -> Response:
        """Report the progress of the current job, which pages poll."""
        job = self.studio.worker.job
        return JSONResponse(None if job is None else job.to_dict())

    def spec(self, _: Request) -> Response:
        """Send the decisions so far as a specification for the command line."""
        headers = {"content-disposition": 'attachment; filename="release.toml"'}
        return PlainTextResponse(screens.spec_text(self.studio), headers=headers)

    def release_file(self, request: Request) -> Response:
        """Send a public or private file of the last release."""
        path = self.studio.file_of_release(request.path_params["side"], request.path_params["name"])
        return _send(path, download="download" in request.query_params)

    def release_zip(self, request: Request) -> Response:
        """Send all public files of the last release in one archive."""
        made = self.studio.publication
        done = None if made is None else self.studio.worker.outcome(made.key)
        if made is None or done is None or done.error is not None:
            return _report_missing_page(request, None)
        packed = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been sent
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in (self.studio.file_of_release("public", name) for name in done.facts["files"]):
                if path is not None:
                    archive.write(path, f"{made.folder.name}/{path.name}")
        packed.seek(0)
        name = quote(f"{made.folder.name}.zip")
        headers = {"content-disposition": f"attachment; filename*=utf-8''{name}"}
        sent = iter(partial(packed.read, 1 << 20), b"")
        return StreamingResponse(sent, 200, headers, "application/zip", BackgroundTask(packed.close))

    def earlier_file(self, request: Request) -> Response:
        """Send the report or the table of an earlier release of the folder."""
        return _send(self.studio.paths.report(request.path_params["name"], request.path_params["side"]))

    def document(self, request: Request) -> Response:
        """Send the document of a decision, to be printed."""
        try:
            with self.studio.lock:
                text, own = review_screen.document_of(self.studio), self.studio.review
        except Waiting:
            text = own = None
        if text is None or own is None:
            return _report_missing_page(request, None)
        headers = {"content-security-policy": REPORT_POLICY}
        if "download" in request.query_params:
            name = quote(f"{Path(own.shown).name}.review.html")
            headers["content-disposition"] = f"attachment; filename*=utf-8''{name}"
        return HTMLResponse(text, headers=headers)

    def close(self, _: Request) -> Response:
        """End the studio, and show the last page."""
        self.studio.close()
        # The server ends after this page, so that its styles are in the page itself.
        style = _ASSETS["report.css"][0].read_text(encoding="utf-8")
        closed = page("closed.html.j2", self.studio, step="", style=style)
        return HTMLResponse(closed, headers={"content-security-policy": REPORT_POLICY})


def _screen_of(path: str) -> str:
    """Return the path of the screen with a form."""
    screen = "/" + path.split("/")[1]
    return "/" if screen == "/open" else screen


def _create_form_handler(views: _Views, path: str, change: Callable[[Studio, Mapping[str, str]], str]) -> Handler:
    """Create the handler of a form: change the state and redirect to the next screen, or show the error."""

    def submit(sent: SubmittedForm) -> Response:
        # A redirect after a form, so that reloading the page does not submit it again.
        try:
            target = views.change(sent, lambda: change(views.studio, sent.form))
        except ShoalError as error:
            return views.refuse(sent, error)
        return RedirectResponse(target, status_code=303)

    async def handle(request: Request) -> Response:
        form = await _parse_form(request)
        if form is None:
            return PlainTextResponse("This is not a form of the studio.", status_code=400)
        return await run_in_threadpool(submit, SubmittedForm(path=path, form=form))

    return handle


async def _parse_form(request: Request) -> dict[str, str] | None:
    """Parse the fields of a form; None if the body is not a valid form."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    # Browsers percent-encode all other characters.
    try:
        text = (await request.body()).decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FORM_FIELDS))
    except (UnicodeDecodeError, ValueError):
        return None


def _create_upload_handler(views: _Views) -> Handler:
    """Create the handler of tables that are dropped into the page; the body of the request is the file."""
    studio = views.studio

    async def handle(request: Request) -> Response:
        try:
            path = studio.paths.create_upload_path(request.query_params.get("name", ""))
        except ShoalError as error:
            return PlainTextResponse(error.render(SCREENS), status_code=422)
        # An upload that breaks off leaves no file behind.
        complete = False
        try:
            # The file is streamed to disk, so its size is not limited by memory.
            with path.open("xb") as file:
                async for part in request.stream():
                    file.write(part)
            complete = True
        finally:
            if not complete:
                studio.remove_unused_uploads()
        sent = SubmittedForm(path=UPLOAD_PATH, form={})
        change = partial(views.change, sent, lambda: screens.open_table(studio, path))
        return PlainTextResponse(await run_in_threadpool(change))

    return handle


def _draw(draw: Callable[[], str | None]) -> Response:
    """Send a drawing; its policy allows inline styles, but no scripts."""
    try:
        found = draw()
    except (ShoalError, Waiting):  # a picture may be requested before its job has run
        found = None
    if found is None:
        return _report_missing_page(None, None)
    return Response(found, media_type="image/svg+xml", headers={"content-security-policy": REPORT_POLICY})


def _create_hierarchy_handler(views: _Views) -> Handler:
    """Create the handler of uploaded hierarchies; the body of the request is the file."""
    studio = views.studio

    async def handle(request: Request) -> Response:
        # `Guard` has limited the size of the body.
        content = await request.body()
        column = request.query_params.get("column", "")

        def add() -> str:
            sent = SubmittedForm(path=HIERARCHY_PATH, form={"column": column})
            return views.change(sent, lambda: coarsening_screens.add_file(studio, column, content))

        try:
            return PlainTextResponse(await run_in_threadpool(add))
        except ShoalError as error:
            return PlainTextResponse(error.render(SCREENS), status_code=422)

    return handle


def _send(path: Path | None, *, download: bool = False) -> Response:
    """Send a file; a page opens in the browser unless a download is requested, all others are downloaded."""
    if path is None:
        return _report_missing_page(None, None)
    name = path.name if download or path.suffix != ".html" else None
    headers = {"content-security-policy": REPORT_POLICY}
    return FileResponse(path, headers=headers, filename=name, media_type=_MEDIA_TYPES.get(path.suffix))


def _send_asset(request: Request) -> Response:
    # Names are looked up in a fixed list, so that no path of the request reaches the file system.
    found = _ASSETS.get(request.path_params["name"])
    return _report_missing_page(request, None) if found is None else FileResponse(found[0], media_type=found[1])


def _report_bug(request: Request, error: Exception) -> Response:
    # Only the location: the message of an unexpected error may quote cells.
    message = f"Internal error: {place_of(error)}. This is a bug in shoal: please report it with this line."
    return PlainTextResponse(message, status_code=500)


def _report_missing_page(request: Any, error: Any) -> Response:
    return PlainTextResponse("There is no such page in the studio.", status_code=404)
