/** Failures, as the user sees them. */

import { GrandstandError } from "../../../client/mod.ts";
import { el } from "./elements.ts";

/** Most characters of an explanation by the server that are shown. */
const detailCharactersMax = 300;

const meanings: Readonly<Record<number, string>> = {
  0: "The platform cannot be reached. Check your connection.",
  401: "Your access token is not valid, or it has ended.",
  403: "Your role does not allow this.",
  404: "There is nothing here, or you have no role that shows it.",
  429: "Too many requests at once. Wait a moment.",
};

/** Returns the text of a failure. */
export function messageOf(error: unknown): string {
  if (!(error instanceof GrandstandError)) return "The page has a fault. Reload it.";
  const { status } = error;
  const general = status < 500 ? "The platform refused the request." : "The platform has a problem.";
  return `${meanings[status] ?? general} ${detailOf(error).slice(0, detailCharactersMax)}`.trim();
}

/** Returns the explanation of the server, if it says more than the status. */
export function detailOf({ code, status, message }: GrandstandError): string {
  return status === 0 || status === 404 || code === "bad_answer" ? "" : message;
}

/** Returns what is shown in the place of what failed. */
export function problemOf(error: unknown, retry: () => void): HTMLElement {
  const isMissing = error instanceof GrandstandError && error.status === 404;
  const button = el("button", { type: "button", on: { click: retry } }, "Try again");
  return el(
    "section",
    { class: "card problem", role: "alert" },
    el("h1", {}, isMissing ? "Not found" : "That did not work"),
    el("p", {}, messageOf(error)),
    el("p", { class: "row" }, button, el("a", { href: "#/" }, "All organisations")),
  );
}
