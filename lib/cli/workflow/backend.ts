/** The ways to a backend: through the platform by the id of a workflow, or to its address. */

import type { DialogueOptions } from "../../workflow/dialogue/mod.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { tokenOf } from "../frame/profile.ts";
import { kinds, type Target } from "../frame/resources.ts";
import { createDialogueToken, readDialogueScope } from "./dialogue_scope.ts";

/** Longest time of a request in ms: that of a backend, and some for the way. */
const requestMs = 35_000;

/** A backend as a dialogue addresses it. */
export type Backend = Pick<DialogueOptions, "context" | "send" | "refresh">;

interface Post {
  readonly url: string;
  readonly token: string;
  readonly body: unknown;
  readonly key: string;
  readonly signal: AbortSignal;
}

/** Finds the backend of a workflow of the platform, or the one at an address, which gets a short token in place of the person's own. */
export async function openBackend(workflow: string, target: Target, context: CliContext): Promise<Backend> {
  const api = await context.api();
  await api.requireAllowed(target);
  return URL.canParse(workflow)
    ? await directBackend(workflow, target, api, context)
    : await relayedBackend(workflow, target, api, context);
}

async function directBackend(
  url: string,
  target: Target,
  api: ControlApi,
  context: CliContext,
): Promise<Backend> {
  const { context: ids, place } = await readDialogueScope(api, target);
  const createToken = async (): Promise<string> =>
    String((await createDialogueToken(api, place, url)).attributes.token);
  let token = await createToken();
  return {
    context: { baseURL: api.url, ...ids },
    send: (body, key, signal) => post({ url, token, body, key, signal }, context),
    async refresh() {
      token = await createToken();
      return true;
    },
  };
}

async function relayedBackend(
  id: string,
  target: Target,
  api: ControlApi,
  context: CliContext,
): Promise<Backend> {
  const { context: ids } = await readDialogueScope(api, target);
  const token = await tokenOf(context.settings, context);
  const url = `${api.url}/api/v2/workflows/${encodeURIComponent(id)}/dispatch`;
  const scope = { type: kinds[target.kind].path, id: target.id };
  return {
    context: { baseURL: api.url, ...ids },
    send({ context: _ids, ...request }, key, signal) {
      return post({ url, token, body: { scope, request }, key, signal }, context);
    },
  };
}

async function post({ url, token, body, key, signal }: Post, context: CliContext) {
  const response = await context.fetch(
    new Request(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
      // A redirect would send the token elsewhere.
      redirect: "manual",
      signal: AbortSignal.any([signal, context.timeLimit(requestMs), context.interruption()]),
    }),
  );
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    text: await boundedText(response),
  };
}

/** Reads a body, and stops when it is longer than an answer may be. */
async function boundedText({ body }: Response): Promise<string> {
  const { dialogueLimits } = await import("../../workflow/dialogue/mod.ts");
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > dialogueLimits.answerBytesMax) break;
  }
  return text;
}
