/** Failures, as the user sees them. */

import { RequestError } from "./api.ts";
import { el } from "./elements.ts";

/** Returns the text of a failure. */
export function messageOf(error: unknown): string {
  return error instanceof RequestError ? error.message : "The page has a fault. Reload it.";
}

/** Returns what is shown in the place of what failed. */
export function problemOf(error: unknown, retry: () => void): HTMLElement {
  const isMissing = error instanceof RequestError && error.status === 404;
  const button = el("button", { type: "button", on: { click: retry } }, "Try again");
  return el(
    "section",
    { class: "card problem", role: "alert" },
    el("h1", {}, isMissing ? "Not found" : "That did not work"),
    el("p", {}, messageOf(error)),
    el("p", { class: "row" }, button, el("a", { href: "#/" }, "All organisations")),
  );
}
