/**
 * The frame of the page: it signs in, shows the place that the address names, and reports what failed.
 *
 * @module
 */

import { Api, type Document, RequestError, type Resource, textOf } from "./api.ts";
import { showScope } from "./choose.ts";
import { el, setText } from "./elements.ts";
import { hrefOf, hrefOfQuery, type Place, placeOf, type ScopeType, scopeTypes } from "./places.ts";
import { showRun } from "./run.ts";
import { askToSignIn } from "./sign_in.ts";

/** What `include` names above a scope. */
const above: Readonly<Record<ScopeType, string>> = {
  organisations: "",
  spaces: "?include=organisation",
  projects: "?include=space.organisation",
  events: "?include=project.space.organisation",
};

class Frame {
  readonly #api: Api = new Api(new URL("..", import.meta.url).href.replace(/\/$/, ""), () => this.#signIn());
  readonly #trail: HTMLElement = el("nav", { class: "trail", "aria-label": "You are here" });
  readonly #account: HTMLElement = el("div", { class: "account" });
  readonly #main: HTMLElement = el("main", { tabindex: -1 });
  #leave: AbortController = new AbortController();
  #signingIn: Promise<void> | null = null;

  start(): void {
    const asked = hrefOfQuery(location.search);
    if (asked !== null) history.replaceState(null, "", location.pathname + asked);
    const brand = el("a", { class: "brand", href: "#/" }, "Grandstand");
    document.body.append(el("header", {}, brand, this.#trail, this.#account), this.#main);
    addEventListener("hashchange", () => this.#show(true));
    this.#show(false);
  }

  /** Shows the place that the address names; after a move the focus follows. */
  async #show(isMove: boolean): Promise<void> {
    this.#leave.abort();
    this.#leave = new AbortController();
    const { signal } = this.#leave;
    const root = el("div", { class: "view" });
    this.#main.replaceChildren(root);
    root.append(el("p", { class: "quiet", role: "status" }, "Loading…"));
    if (isMove) this.#main.focus();
    const place = placeOf(location.hash);
    try {
      const chain = place.scope === null ? [] : await this.#chainOf(place.scope, signal);
      if (signal.aborted) return;
      this.#name(chain);
      const show = place.workflowId === null ? showScope : showRun;
      await show({ api: this.#api, place, chain, root, signal });
      if (this.#account.childElementCount === 0) await this.#showAccount();
    } catch (error) {
      if (signal.aborted) return;
      root.replaceChildren(problemOf(error, () => this.#show(true)));
    }
  }

  async #chainOf(
    { type, id }: NonNullable<Place["scope"]>,
    signal: AbortSignal,
  ): Promise<readonly Resource[]> {
    const { data, included = [] }: Document<Resource> = await this.#api.get(
      `/${type}/${id}${above[type]}`,
      signal,
    );
    const order = (resource: Resource): number => scopeTypes.indexOf(resource.type as ScopeType);
    return [...included.filter(resource => order(resource) >= 0), data].sort((a, b) => order(a) - order(b));
  }

  #name(chain: readonly Resource[]): void {
    const links = chain.map((resource, index) =>
      el(
        "a",
        {
          href: hrefOf(resource.type as ScopeType, resource.id),
          "aria-current": index === chain.length - 1 ? "page" : null,
        },
        textOf(resource, "name") || "(no name)",
      ),
    );
    this.#trail.replaceChildren(...links);
    const names = chain.map(resource => textOf(resource, "name")).reverse();
    document.title = [...names.slice(0, 1), "Grandstand Studio"].join(" · ");
  }

  async #showAccount(): Promise<void> {
    const { data } = await this.#api.get("/me");
    const leave = (): void => {
      this.#api.token = null;
      location.reload();
    };
    const button = el("button", { type: "button", class: "plain", on: { click: leave } }, "Sign out");
    this.#account.replaceChildren(el("span", { class: "quiet" }, textOf(data, "email")), button);
  }

  /** Asks once, however many requests wait for it. */
  #signIn(): Promise<void> {
    this.#signingIn ??= askToSignIn(this.#api).finally(() => {
      this.#signingIn = null;
      this.#account.replaceChildren();
    });
    return this.#signingIn;
  }
}

/** Returns what is shown in the place of what failed. */
function problemOf(error: unknown, retry: () => void): HTMLElement {
  const isKnown = error instanceof RequestError;
  const title = isKnown && error.status === 404 ? "Not found" : "That did not work";
  const text = isKnown ? error.message : "The page has a fault. Try again, or reload it.";
  const button = el("button", { type: "button", on: { click: retry } }, "Try again");
  const left = isKnown ? Math.ceil(error.retryAfterMs / 1_000) : 0;
  if (left > 0) {
    button.disabled = true;
    setText(button, `Try again in ${left} s`);
    setTimeout(() => {
      button.disabled = false;
      setText(button, "Try again");
    }, left * 1_000);
  }
  return el(
    "section",
    { class: "card problem", role: "alert" },
    el("h1", {}, title),
    el("p", {}, text),
    el("p", { class: "row" }, button, el("a", { href: "#/" }, "All organisations")),
  );
}

new Frame().start();
