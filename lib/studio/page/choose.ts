/**
 * The view of a scope: what is below it, and the workflows that run in it. An event is watched, too.
 *
 * @module
 */

import { type Document, type Resource, textOf } from "./api.ts";
import { el } from "./elements.ts";
import { hrefOf, type ScopeType, scopeTypes, type ViewContext } from "./places.ts";
import { watchEvent } from "./watch.ts";

/** Entries of a page of a list. */
const pageCount = 50;

/** Shows the scope of the place, or the organisations. */
export async function showScope(context: ViewContext): Promise<void> {
  const { chain, root, place } = context;
  const scope = chain.at(-1);
  const below = scopeTypes[chain.length === 0 ? 0 : scopeTypes.indexOf(scope?.type as ScopeType) + 1];
  const title = el("h1", {}, scope === undefined ? "Organisations" : textOf(scope, "name"));
  const [list, workflows] = await Promise.all([
    below === undefined
      ? null
      : listOf(
          context,
          below,
          place.scope === null ? `/${below}` : `/${place.scope.type}/${place.scope.id}/${below}`,
        ),
    scope === undefined ? null : workflowsOf(context, scope),
  ]);
  const heading = below === undefined || scope === undefined ? null : el("h2", {}, titles[below]);
  const parts = [title, heading, list, workflows].filter(part => part !== null);
  const watch = el("div");
  root.replaceChildren(...parts.slice(0, 1), ...(scope?.type === "events" ? [watch] : []), ...parts.slice(1));
  if (scope?.type === "events") await watchEvent({ ...context, root: watch });
}

const titles: Readonly<Record<ScopeType, string>> = {
  organisations: "Organisations",
  spaces: "Spaces",
  projects: "Projects",
  events: "Events",
};

const sorts: Readonly<Record<ScopeType, string>> = {
  organisations: "name",
  spaces: "name",
  projects: "name",
  events: "-start_time",
};

/** Builds a list that reads its next page on request. */
async function listOf({ api, signal }: ViewContext, type: ScopeType, path: string): Promise<HTMLElement> {
  const list = el("ul", { class: "cards" });
  const more = el("button", { type: "button", hidden: true, on: { click: () => read() } }, "Show more");
  let query: string | null = `?sort=${sorts[type]}&page[count]=${pageCount}`;
  async function read(): Promise<void> {
    more.disabled = true;
    const { data, links }: Document<readonly Resource[]> = await api.get(path + query, signal);
    list.append(...data.map(resource => cardOf(type, resource)));
    query = links?.next ? new URL(links.next, api.base).search : null;
    more.hidden = query === null;
    more.disabled = false;
  }
  await read();
  if (list.childElementCount > 0) return el("section", {}, list, more);
  return el("p", { class: "empty" }, `There are no ${titles[type].toLowerCase()} that you may see.`);
}

function cardOf(type: ScopeType, resource: Resource): HTMLElement {
  const state = textOf(resource, "state");
  const begin = resource.attributes.start_at;
  return el(
    "li",
    {},
    el(
      "a",
      { class: "card", href: hrefOf(type, resource.id) },
      el("strong", {}, textOf(resource, "name") || "(no name)"),
      state === "" ? null : stateOf(state),
      typeof begin === "number" && begin > 0 ? el("span", { class: "quiet" }, timeOf(begin)) : null,
    ),
  );
}

/** Names a state of an event or element for people. */
export function stateOf(state: string): HTMLElement {
  return el("span", { class: "state", "data-state": state }, stateNames[state] ?? state);
}

const stateNames: Readonly<Record<string, string>> = {
  current: "Live",
  future: "Planned",
  on_demand: "On demand",
  past: "Ended",
  non_scheduled: "Draft",
  cancelled: "Cancelled",
  revoked: "Revoked",
};

function timeOf(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Lists the workflows that can be started in a scope. */
async function workflowsOf({ api, signal }: ViewContext, { type, id }: Resource): Promise<HTMLElement> {
  const scope = type.slice(0, -1);
  const { data }: Document<readonly Resource[]> = await api.get(
    `/workflows?filter[scope]=${scope}&sort=name&page[count]=100`,
    signal,
  );
  const usable = data.filter(({ attributes }) => attributes.enabled === true);
  const items = usable.map(workflow =>
    el(
      "li",
      {},
      el(
        "a",
        { class: "card", href: hrefOf(type as ScopeType, id, workflow.id) },
        el("strong", {}, textOf(workflow, "name")),
      ),
    ),
  );
  return el(
    "section",
    {},
    el("h2", {}, "Workflows"),
    items.length > 0
      ? el("ul", { class: "cards" }, ...items)
      : el("p", { class: "empty" }, `No workflow is registered for this ${scope}.`),
  );
}
