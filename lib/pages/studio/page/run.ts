/**
 * The view in which a workflow runs.
 *
 * @module
 */

import { GrandstandError } from "../../../client/mod.ts";
import { dialogueLimits } from "../../../workflow/dialogue/mod.ts";
import { openDialogue } from "./dialogue_view.ts";
import { el } from "./elements.ts";
import { hrefOf, type ViewContext } from "./places.ts";
import { detailOf } from "./problem.ts";

/** Time for an answer by way of the platform, in ms: it waits for the backend itself. */
const answerMsMax = dialogueLimits.answerMsMax + 5_000;

/** Runs the workflow of the place in its scope, through the relay of the platform. */
export async function showRun({ api, place, root, signal, guard }: ViewContext): Promise<void> {
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
