/** The view of a scope: the workflows that run in it, and what is below it. Events and boards are watched. */

import { type PageQuery, type Resource, type ScopeType, scopeTypes, textOf } from "./api.ts";
import { showBoards } from "./board.ts";
import { el } from "./elements.ts";
import { hrefOf, type ViewContext } from "./places.ts";
import { problemOf } from "./problem.ts";
import { createState, watchEvent } from "./watch.ts";

const titles: Readonly<Record<ScopeType, string>> = {
  organisations: "Organisations",
  spaces: "Spaces",
  projects: "Projects",
  events: "Events",
};

export async function showScope(context: ViewContext): Promise<void> {
  const { chain, root } = context;
  const scope = chain.at(-1);
  if (scope === undefined) {
    const list = await listOf(context, "organisations", "");
    return root.replaceChildren(el("h1", {}, titles.organisations), list);
  }
  const { type, id } = scope;
  const state = createState();
  const title = el("div", { class: "row" }, el("h1", {}, textOf(scope, "name")), state.element);
  const watched = el("div", { class: "watch" });
  const below = scopeTypes[scopeTypes.indexOf(type as ScopeType) + 1];
  const [workflows, list] = await Promise.all([
    workflowsOf(context, scope),
    below && listOf(context, below, id),
  ]);
  if (below && list) watched.append(el("section", {}, el("h2", {}, titles[below]), list));
  root.replaceChildren(title, workflows, watched);
  if (type === "events") {
    state.show(textOf(scope, "state"));
    watchEvent({ ...context, root: watched }, state.show);
  }
  if (type === "organisations" || type === "spaces") return;
  const boards = el("section");
  watched.append(boards);
  const show = (): Promise<void> =>
    showBoards({ ...context, root: boards }).catch(error => boards.replaceChildren(problemOf(error, show)));
  await show();
}

async function listOf({ api, signal }: ViewContext, type: ScopeType, parent: string): Promise<HTMLElement> {
  const list = el("ul", { class: "cards" });
  const more = el("button", { type: "button", on: { click: () => read() } }, "Show more");
  let query: PageQuery = { "page[count]": 48 };
  async function read(): Promise<void> {
    more.disabled = true;
    const { data, next } = await api.scopesBelow(type, parent, query, signal);
    list.append(...data.map(cardOf));
    more.hidden = next === null;
    more.disabled = false;
    if (next !== null) query = { ...query, "page[cursor]": next };
  }
  await read();
  const hint = type === "organisations" ? " If your role is for a part of one, open the link to it." : "";
  const none = el("p", { class: "empty" }, `There are no ${type} that you can see.${hint}`);
  return list.firstChild === null ? none : el("div", { class: "stack" }, list, more);
}

function cardOf(resource: Resource): HTMLElement {
  const begin = Number(resource.attributes.start_at ?? 0);
  const form = { dateStyle: "medium", timeStyle: "short" } as const;
  const time = begin > 0 ? new Date(begin * 1_000).toLocaleString(undefined, form) : "";
  const state = createState();
  state.show(textOf(resource, "state"));
  const parts = [state.element, el("span", { class: "quiet" }, time)];
  return card(hrefOf(resource), textOf(resource, "name"), ...parts);
}

function card(href: string, name: string, ...parts: readonly HTMLElement[]): HTMLElement {
  return el("li", {}, el("a", { class: "card", href }, el("strong", {}, name), ...parts));
}

async function workflowsOf({ api, signal }: ViewContext, scope: Resource): Promise<HTMLElement> {
  const noun = scope.type.slice(0, -1) as "organisation" | "space" | "project" | "event";
  const query = { "filter[scope]": noun, sort: "name", "page[count]": 100 } as const;
  const workflows = await api.workflow.listWorkflows(query, { signal });
  const items = workflows
    .filter(({ attributes }) => attributes.enabled === true)
    .map(workflow => card(`${hrefOf(scope)}/run/${workflow.id}`, workflow.attributes.name ?? ""));
  const none = el("p", { class: "quiet" }, `No workflow is registered for this ${noun}.`);
  const list = items.length > 0 ? el("ul", { class: "cards" }, ...items) : none;
  return el("section", {}, el("h2", {}, "Workflows"), list);
}
