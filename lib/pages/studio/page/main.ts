/** The frame of the page: it shows the place that the address names, and reports what failed. */

import { GrandstandError } from "../../../client/mod.ts";
import { dialogueLimits } from "../../../workflow/dialogue/mod.ts";
import { Api, type Resource, type ScopeType, scopeTypes, textOf } from "./api.ts";
import { showScope } from "./choose.ts";
import { openDialogue } from "./dialogue_view.ts";
import { el } from "./elements.ts";
import { showOperations } from "./operations.ts";
import { hrefOf, operationsHref, type Place, placeOf, type ViewContext } from "./places.ts";
import { detailOf, problemOf } from "./problem.ts";
import { askToSignIn } from "./sign_in.ts";

const above: Readonly<Record<ScopeType, string>> = {
  organisations: "",
  spaces: "organisation",
  projects: "space.organisation",
  events: "project.space.organisation",
};

const trail = el("nav", { class: "trail", "aria-label": "You are here" });
const account = el("div", { class: "account" });
const main = el("main", { tabindex: -1 });
/** The script is in a folder of its own below the address of the platform. */
const api = new Api(new URL("..", import.meta.url).href.replace(/\/$/, ""), signIn);
let leave = new AbortController();
let signingIn: Promise<void> | null = null;
const nothing = (): boolean => false;
let isUnsaved = nothing;

/** Asks once, however many requests wait for it. */
function signIn(): Promise<void> {
  signingIn ??= askToSignIn(api).finally(() => {
    signingIn = null;
    account.replaceChildren();
    if (document.activeElement === document.body) main.focus();
  });
  return signingIn;
}

async function show(): Promise<void> {
  leave.abort();
  leave = new AbortController();
  isUnsaved = nothing;
  const { signal } = leave;
  const guard = (question: () => boolean): void => {
    if (!signal.aborted) isUnsaved = question;
  };
  const root = el("div", { class: "view" }, el("p", { class: "quiet", role: "status" }, "Loading…"));
  main.replaceChildren(root);
  const place = placeOf(location.hash);
  if (account.firstChild === null) showAccount(signal).catch(() => {});
  try {
    const chain: Resource[] = [];
    if (place.scope !== null) {
      const { type, id } = place.scope;
      const include = above[type] === "" ? {} : { include: above[type] };
      const { data, included = [] } = await api.scope(type, id, include, signal);
      const rank = (resource: Resource): number => scopeTypes.indexOf(resource.type as ScopeType);
      chain.push(...[...included, data].sort((a, b) => rank(a) - rank(b)));
    }
    nameView(chain, place);
    await viewOf(place)({ api, place, chain, root, signal, guard });
  } catch (error) {
    if (!signal.aborted) root.replaceChildren(problemOf(error, show));
  }
}

function viewOf({ isOperations, workflowId }: Place): (context: ViewContext) => Promise<void> {
  if (isOperations) return showOperations;
  return workflowId === null ? showScope : showRun;
}

function nameView(chain: readonly Resource[], { isOperations }: Place): void {
  const links = chain.map((resource, index) => {
    const current = index === chain.length - 1 ? "page" : null;
    return el("a", { href: hrefOf(resource), "aria-current": current }, textOf(resource, "name"));
  });
  trail.replaceChildren(...links);
  const names = isOperations ? ["Operations"] : chain.slice(-1).map(resource => textOf(resource, "name"));
  document.title = [...names, "Grandstand Studio"].join(" · ");
}

async function showAccount(signal: AbortSignal): Promise<void> {
  const { attributes } = await api.control.readMe({}, { signal });
  const signOut = (): void => {
    api.token = "";
    location.reload();
  };
  const button = el("button", { type: "button", class: "plain", on: { click: signOut } }, "Sign out");
  const isOperator = attributes.system_role === "operator";
  account.replaceChildren(
    ...(isOperator ? [el("a", { href: operationsHref }, "Operations")] : []),
    el("span", { class: "quiet" }, textOf({ attributes: { ...attributes } }, "email")),
    button,
  );
}

/** Links from elsewhere name what they open by parameters. */
for (const type of ["event", "project"]) {
  const id = new URLSearchParams(location.search).get(type);
  if (id !== null) history.replaceState(null, "", location.pathname + hrefOf({ type: `${type}s`, id }));
}
document.body.append(
  el("header", {}, el("a", { class: "brand", href: "#/" }, "Grandstand"), trail, account),
  main,
);
addEventListener("beforeunload", event => {
  if (isUnsaved()) event.preventDefault();
});
addEventListener("hashchange", ({ oldURL }) => {
  // Back and links inside the page: the browser asks only where the page itself is left.
  if (isUnsaved() && !confirm("Leave this workflow? What you entered is lost.")) {
    history.pushState(null, "", oldURL);
    return;
  }
  main.focus();
  show();
});
show();

/** Time for an answer by way of the platform, in ms: it waits for the backend itself. */
const answerMsMax = dialogueLimits.answerMsMax + 5_000;

async function showRun({ api, place, root, signal, guard }: ViewContext): Promise<void> {
  const { scope, workflowId } = place;
  if (scope === null || workflowId === null) return;
  const { attributes } = await api.workflow.readWorkflow({ workflowId }, { signal });
  const body = el("div", { class: "dialogue" });
  root.replaceChildren(el("h1", {}, attributes.name ?? ""), body);
  openDialogue(body, {
    signal,
    guard,
    back: hrefOf(scope),
    async send({ context: _, ...request }, key, aborted) {
      const options = { headers: { "idempotency-key": key }, signal: aborted, timeoutMs: answerMsMax };
      const call = api.workflow.dispatchWorkflow({ workflowId, body: { scope, request } }, options);
      return await call.then(
        view => ({ status: 200, retryAfter: null, text: JSON.stringify(view) }),
        error => {
          if (!(error instanceof GrandstandError) || error.status === 0) throw error;
          const { status, retryAfterMs } = error;
          const retryAfter = retryAfterMs === 0 ? null : String(retryAfterMs / 1_000);
          return { status, retryAfter, text: JSON.stringify({ detail: detailOf(error) }) };
        },
      );
    },
  });
}
