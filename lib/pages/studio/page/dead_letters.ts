/** Dead letters of all organisations: actions that could not be applied, which operators queue again. */

import type { DeadLetter, DeadLetterCounts } from "../../../client/mod.ts";
import { el, keyedList, setText } from "./elements.ts";
import type { ViewContext } from "./places.ts";
import { messageOf } from "./problem.ts";
import { repeat } from "./repeat.ts";

type Counts = DeadLetterCounts["data"][number];

/** Pause between two readings, in ms. */
const everyMs = 10_000;
/** Dead letters of an organisation that are shown and queued at a time. */
const shownMax = 50;
const time = { dateStyle: "short", timeStyle: "medium" } as const;

/** Shows the organisations that have dead letters until the user leaves. */
export function showDeadLetters(context: Pick<ViewContext, "api" | "root" | "signal">): void {
  const { api, root, signal } = context;
  const note = el("p", { class: "quiet", role: "status" }, "Loading…");
  const list = el("ul", { class: "stack" });
  const show = keyedList<Counts>(list, {
    key: ({ id }) => id,
    create: counts => createOrganisation(counts, context),
  });
  root.append(el("h2", {}, "Dead letters"), note, list);
  async function read(): Promise<void> {
    const { document } = await api.control.listDeadLetterCounts({}, { signal }).whole();
    show(document.data);
    setText(note, document.data.length === 0 ? "Every action was applied." : "");
  }
  const report = (error: unknown): void => {
    if (error) setText(note, `Not up to date. ${messageOf(error)}`);
  };
  repeat(read, { everyMs, signal, report });
}

function createOrganisation(
  { id, attributes: { name, space_id } }: Counts,
  { api, signal }: Pick<ViewContext, "api" | "signal">,
) {
  const options = { signal, headers: { "x-platform-org-id": id } };
  const total = el("span", { class: "count" });
  const outcome = el("p", { role: "status" });
  const letters = el("ul", { class: "letters" });
  const confirm = el("div", { class: "row", hidden: true });
  const button = el("button", { type: "button", on: { click: () => attempt(open) } }, "Show");
  async function open(): Promise<void> {
    const found = await api.audience.listDeadActions({ space_id, limit: shownMax }, options);
    letters.replaceChildren(...found.map(rowOf));
    const act = `Replay ${found.length === 1 ? "this action" : `these ${found.length} actions`}`;
    const replay = (): Promise<void> => attempt(() => queue(found.map(({ deadLetterId }) => deadLetterId)));
    const sure = el("button", { type: "button", class: "main", on: { click: replay } }, `${act} now`);
    const keep = el("button", { type: "button", on: { click: () => (confirm.hidden = true) } }, "Cancel");
    const question = "Is what failed put right? They are applied after all other actions of their users.";
    confirm.replaceChildren(el("p", {}, question), sure, keep);
    confirm.hidden = true;
    const ask = el("button", { type: "button", on: { click: () => (confirm.hidden = false) } }, act);
    letters.append(el("li", { class: "row" }, ask));
    button.hidden = true;
    letters.hidden = found.length === 0;
  }
  async function queue(ids: readonly string[]): Promise<void> {
    const { replayed, notFound } = await api.audience.replayDeadActions({ space_id, body: { ids } }, options);
    const gone = notFound.length === 0 ? "" : ` ${notFound.length} were no longer there.`;
    await open();
    setText(outcome, `${replayed.length} queued again.${gone} What fails anew comes back here.`);
  }
  /** Says why it failed, if it does. */
  async function attempt(act: () => Promise<void>): Promise<void> {
    setText(outcome, "");
    await act().catch((error: unknown) => setText(outcome, messageOf(error)));
  }
  const head = el("div", { class: "row spread" }, el("strong", {}, name), total, button);
  return {
    element: el("li", { class: "card stack" }, head, letters, confirm, outcome),
    show: ({ attributes: { count } }: Counts) =>
      setText(total, `${count} ${count === 1 ? "action" : "actions"}`),
  };
}

function rowOf({ action, userId, reason, failedAt, attempts }: DeadLetter): HTMLElement {
  const times = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}, ${new Date(failedAt).toLocaleString(undefined, time)}`;
  return el(
    "li",
    {},
    el("strong", {}, action),
    el("span", {}, `${reason.code}: ${reason.message}`),
    el("span", { class: "quiet" }, `User ${userId} · ${times}`),
  );
}
