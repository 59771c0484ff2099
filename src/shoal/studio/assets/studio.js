// The little that pages cannot do without a script: dropping files, progress, copying, and sentences while one chooses.
"use strict";

const byId = (id) => document.getElementById(id);
const words = document.body.dataset;

function dropping() {
  const place = byId("drop");
  if (!place) return;
  place.hidden = false;
  const said = byId("dropped");
  const send = async (file) => {
    if (file.size > Number(place.dataset.limit)) {
      said.textContent = words.large;
      return;
    }
    said.textContent = words.taking.replace("{name}", () => file.name);
    try {
      const answer = await fetch(`/open/dropped?name=${encodeURIComponent(file.name)}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: file,
      });
      const text = await answer.text();
      if (answer.ok) window.location.assign(text);
      else said.textContent = text;
    } catch {
      said.textContent = words.silent;
    }
  };
  byId("file").addEventListener("change", (event) => event.target.files.length && send(event.target.files[0]));
  for (const name of ["dragover", "dragenter"]) {
    place.addEventListener(name, (event) => { event.preventDefault(); place.classList.add("over"); });
  }
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
}

function working() {
  if (!byId("working")) return;
  const look = async () => {
    let job = null;
    try {
      job = await (await fetch("/work")).json();
    } catch {
      byId("step").textContent = words.silent;
      return;
    }
    if (job === null) {
      // The question whether to close the studio stays open until it is answered or folded.
      if (document.querySelector(".menu details[open]")) window.setTimeout(look, 300);
      else {
        window.history.scrollRestoration = "manual"; // for `arriving`, which the entry of the history outlives
        window.location.reload();
      }
      return;
    }
    if (job.total > 0) {
      byId("progress").max = job.total;
      byId("progress").value = job.done;
    }
    byId("step").textContent = `${job.step}, ${Math.round(job.seconds)} s`;
    window.setTimeout(look, 100);
  };
  look();
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard || !button.hidden) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(`[data-same="${button.dataset.copy}"]`).textContent);
      button.textContent = words.copied;
    });
  }
}

// A slider moves the choice of a list, which stays in the form; its words stand beside it.
function sliding() {
  for (const slide of document.querySelectorAll("[data-slides][hidden]")) {
    const list = byId(slide.dataset.slides);
    const tell = () => {
      slide.nextElementSibling.textContent = list.selectedOptions[0].textContent;
      slide.setAttribute("aria-valuetext", list.selectedOptions[0].textContent);
    };
    slide.hidden = false;
    list.classList.add("away");
    list.tabIndex = -1;
    slide.addEventListener("input", () => { list.selectedIndex = slide.value; tell(); });
    slide.addEventListener("change", () => list.dispatchEvent(new Event("change", { bubbles: true })));
    list.addEventListener("change", () => { slide.value = list.selectedIndex; tell(); });
    tell();
  }
  for (const one of document.querySelectorAll(".unscripted")) one.hidden = true;
  const share = byId("slide");
  if (!share || !share.hidden) return;
  share.hidden = false;
  share.addEventListener("input", () => { byId("fraction").value = share.value; });
  byId("fraction").addEventListener("input", (event) => { share.value = event.target.value.replace(",", ".") || 100; });
}

// Parts of a page that are put in place of those shown: [data-live], by their ids, until none of them waits for work.
const pause = (time) => new Promise((done) => window.setTimeout(done, time));
let asked = 0;
async function renew(request) {
  const mine = ++asked;
  let answer = await request;
  for (;;) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    if (answer.status === 422 || page.body.dataset.step !== document.body.dataset.step && !page.getElementById("working")) {
      document.body.replaceWith(document.adoptNode(page.body));  // it says what is wrong, or is another screen
      begin();
      const wrong = document.querySelector("[autofocus]");
      if (wrong) wrong.focus();
      return;
    }
    while (document.querySelector(":active")) await pause(20);  // what is pressed stays until it is let go
    if (mine !== asked) return;
    const focused = document.activeElement && document.activeElement.id;
    const parts = page.getElementById("working") ? [] : [...page.querySelectorAll("[data-live]")];
    const gone = document.getElementById("warnings");
    if (gone && parts.length && !parts.some((part) => part.id === gone.id)) gone.remove();
    for (const part of parts) {
      const shown = byId(part.id);
      const typed = shown && shown.contains(document.activeElement) && document.activeElement.matches("input:not([type=range], [type=file])");
      if (shown && shown.open) part.open = true;
      for (const fold of shown ? shown.querySelectorAll("details[open]") : []) {
        const again = [...part.querySelectorAll("details")].find((one) => one.textContent.startsWith(fold.firstElementChild.textContent));
        if (again) again.open = true;
      }
      const refused = shown && shown.querySelector("#refused");  // it says why, and stays
      if (shown && !typed && !refused) shown.replaceWith(document.adoptNode(part));
      else if (!shown && byId("columns")) byId("columns").before(document.adoptNode(part));
    }
    if (focused && byId(focused)) byId(focused).focus();
    sliding();
    opening();
    copying();
    if (!page.getElementById("working") && !document.querySelector("[data-wait]")) return;
    while ((await (await fetch("/work")).json()) !== null) await pause(100);
    if (mine !== asked) return;
    answer = await fetch(answer.url);
  }
}

function counting() {
  if (document.querySelector("[data-wait]")) renew(fetch(window.location.href));
  document.body.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form || !form.dataset.counted || event.target.closest(".several") || event.target.type === "range") return;
    for (const part of document.querySelectorAll("#seen, #risk")) part.classList.add("busy");
    const fields = new URLSearchParams(new FormData(form));
    fields.set("do", form.dataset.counted);
    renew(fetch(form.action, { method: "POST", body: fields }));
  });
  for (const form of document.querySelectorAll("[data-stays]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      byId("warnings").classList.add("busy");
      renew(fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)) }));
    });
  }
}

function pointing() {
  for (const point of document.querySelectorAll("[data-choose]")) {
    const choose = () => byId(point.dataset.choose).requestSubmit();
    point.addEventListener("click", choose);
    point.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
    });
  }
}

function opening() {
  const place = byId("from-file");
  if (!place || !place.hidden) return;
  place.hidden = false;
  byId("tree").addEventListener("change", async (event) => {
    if (!event.target.files.length) return;
    const answer = await fetch(`/goal/shape/file?column=${place.dataset.column}`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: event.target.files[0],
    });
    const text = await answer.text();
    if (answer.ok) renew(fetch(text));
    else byId("file-said").textContent = text;
  });
}

// A page that follows work begins at the part that its address names: a reload stays where the page of the work stood.
function arriving() {
  if (byId("working") || window.history.scrollRestoration !== "manual") return;
  const part = byId(window.location.hash.slice(1));
  if (part) part.scrollIntoView();
  window.addEventListener("load", () => window.setTimeout(() => { window.history.scrollRestoration = "auto"; }));
}

function begin() {
  for (const start of [arriving, dropping, sliding, counting, pointing, opening, working, copying]) start();
}
begin();
