/**
 * The view in which a workflow runs.
 *
 * @module
 */

import { textOf } from "./api.ts";
import { openDialogue } from "./dialogue_view.ts";
import { el } from "./elements.ts";
import type { ViewContext } from "./places.ts";

/** Runs the workflow of the place in its scope, through the relay of the platform. */
export async function showRun({ api, place, root, signal }: ViewContext): Promise<void> {
  const { scope, workflowId } = place;
  const { data: workflow } = await api.get(`/workflows/${workflowId}`, signal);
  const body = el("div", { class: "dialogue" });
  root.replaceChildren(el("h1", {}, textOf(workflow, "name")), body);
  const dialogue = openDialogue(body, {
    async send({ body: { context: _, ...request }, key }, aborted) {
      const response = await api.call(`/api/v2/workflows/${workflowId}/dispatch`, {
        method: "POST",
        mediaType: "application/json",
        headers: { "idempotency-key": key },
        body: { scope, request },
        signal: aborted,
      });
      const { status, headers } = response;
      return { status, retryAfter: headers.get("retry-after"), text: await response.text() };
    },
  });
  signal.addEventListener("abort", () => dialogue.close(), { once: true });
}
