/**
 * The view in which a workflow runs.
 *
 * @module
 */

import { dialogueLimits } from "../../dialogue/mod.ts";
import { textOf } from "./api.ts";
import { openDialogue } from "./dialogue_view.ts";
import { el } from "./elements.ts";
import { hrefOf, type ViewContext } from "./places.ts";

/** Time for an answer by way of the platform, in ms: it waits for the backend itself. */
const answerMsMax = dialogueLimits.answerMsMax + 5_000;

/** Runs the workflow of the place in its scope, through the relay of the platform. */
export async function showRun({ api, place, root, signal }: ViewContext): Promise<void> {
  const { scope, workflowId } = place;
  const { data: workflow } = await api.get(`/workflows/${workflowId}`, signal);
  const body = el("div", { class: "dialogue" });
  root.replaceChildren(el("h1", {}, textOf(workflow, "name")), body);
  openDialogue(body, {
    signal,
    back: scope === null ? "#/" : hrefOf(scope),
    async send({ context: _, ...request }, key, aborted) {
      const response = await api.call(`/api/v2/workflows/${workflowId}/dispatch`, {
        method: "POST",
        mediaType: "application/json",
        headers: { "idempotency-key": key },
        body: { scope, request },
        signal: aborted,
        msMax: answerMsMax,
      });
      const { status, headers } = response;
      return { status, retryAfter: headers.get("retry-after"), text: await response.text() };
    },
  });
}
