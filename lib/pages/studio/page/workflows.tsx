/** The workflows of a scope, and the one that runs. */

import { useEffect, useState } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { dialogueLimits } from "../../../workflow/dialogue/mod.ts";
import { openDialogue } from "./dialogue_view.ts";
import { el } from "./elements.ts";
import { hrefOf } from "./places.ts";
import { detailOf } from "./problem.ts";
import { Mount, Problem } from "./ui.tsx";
import type { RootContext, ViewContext } from "./view.ts";

interface ListedWorkflow {
  readonly id: string;
  readonly name: string;
}

export function Workflows({ context }: { readonly context: ViewContext }) {
  const { item } = context.place;
  if (item === null) return <List context={context} />;
  return <Mount key={item} open={root => showRun(item, { ...context, root })} />;
}

function List({ context }: { readonly context: ViewContext }) {
  const { api, chain, signal } = context;
  const scope = chain.at(-1);
  const [found, setFound] = useState<readonly ListedWorkflow[] | { readonly error: unknown } | null>(null);
  const noun = (scope?.type ?? "").slice(0, -1) as "organisation" | "space" | "project" | "event";
  async function read(): Promise<void> {
    const query = { "filter[scope]": noun, sort: "name", "page[count]": 100 } as const;
    const workflows = await api.workflow.listWorkflows(query, { signal });
    const enabled = workflows.filter(({ attributes }) => attributes.enabled === true);
    setFound(enabled.map(({ id, attributes }) => ({ id, name: attributes.name ?? "" })));
  }
  const start = (): void => void read().catch(error => !signal.aborted && setFound({ error }));
  useEffect(start, []);
  if (found === null || scope === undefined) return <p class="quiet">Loading…</p>;
  if ("error" in found) return <Problem error={found.error} retry={start} />;
  if (found.length === 0) return <p class="empty">No workflow is registered for this {noun}.</p>;
  return (
    <ul class="cards">
      {found.map(({ id, name }) => (
        <li key={id}>
          <a class="card" href={hrefOf(scope, "workflows", id)}>
            <strong>{name}</strong>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Time for an answer by way of the platform, in ms: it waits for the backend itself. */
const answerMsMax = dialogueLimits.answerMsMax + 5_000;

async function showRun(workflowId: string, { api, place, root, signal, guard }: RootContext): Promise<void> {
  const { scope } = place;
  if (scope === null) return;
  const { attributes } = await api.workflow.readWorkflow({ workflowId }, { signal });
  const body = el("div", { class: "dialogue" });
  root.replaceChildren(el("h2", {}, attributes.name ?? ""), body);
  openDialogue(body, {
    signal,
    guard,
    back: hrefOf(scope, "workflows"),
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
