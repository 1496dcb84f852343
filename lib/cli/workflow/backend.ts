/** What dialogues on the command line need: the way to the backend, its place and token, and values of inputs. */

import type { DialogueContext, DialogueOptions } from "../../workflow/dialogue/mod.ts";
import { pathOrText } from "../frame/checks.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { CliError, exits, missingFile, wrongUsage } from "../frame/errors.ts";
import type { CliFiles } from "../frame/host.ts";
import { tokenOf } from "../frame/profile.ts";
import {
  documentOf,
  type Identifier,
  kinds,
  pathOf,
  type ResourceObject,
  type Target,
} from "../frame/resources.ts";

/** Longest time of a request in ms: that of a backend, and some for the way. */
const requestMs = 35_000;

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

interface DialogueScope {
  readonly context: Omit<DialogueContext, "baseURL">;
  readonly place: Identifier;
}

/** Finds out where an organisation, space, project or event belongs. @throws {CliError} The caller has no role there. */
export async function readDialogueScope(api: ControlApi, target: Target): Promise<DialogueScope> {
  const isEvent = target.kind === "event";
  const answer = await api.get(
    isEvent ? pathOf(target) : pathOf(target, "my_role"),
    isEvent ? { include: "my_role" } : {},
  );
  const role = isEvent ? answer.included("scope_roles", target.id) : { ...answer.data, meta: answer.meta };
  if (role === undefined || role.attributes.role === "none") {
    throw new CliError(exits.notFound, `You have no role in the ${target.kind} ${target.id}`, {
      code: "no_role",
    });
  }
  const own: Identifier = { type: kinds[target.kind].path, id: target.id };
  const chain = [own, ...((role.meta?.parents ?? []) as readonly Identifier[])];
  const ids = chain.toReversed().map(({ type, id }) => [`${type.slice(0, -1)}Id`, id]);
  return { context: Object.fromEntries(ids), place: own };
}

/** Creates the token that the backend at an address gets: it works in one place for ten minutes. @throws {CliError} The server refused. */
export async function createDialogueToken(
  api: ControlApi,
  place: Identifier,
  audience: string,
): Promise<ResourceObject> {
  const limits = { kind: "dialogue", scopes: [place], audience };
  const document = documentOf("access_tokens", { name: "Dialogue", ...limits });
  return (await api.write("POST", "/access_tokens", { within: null, document })).data;
}

/**
 * Reads values of inputs, `name=value` or `name=@path`: files become Base64. `@@` begins a text with `@`.
 *
 * @throws {CliError} A value has no name, or a file is missing or too large.
 */
export async function readInputs(
  given: readonly string[],
  files: CliFiles,
): Promise<Readonly<Record<string, string>>> {
  const inputs = given.map(async text => {
    const [, name = "", value = ""] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (name === "") throw wrongUsage(`--input must be name=value or name=@path, not ${text}`);
    const read = pathOrText(value);
    return [name, "path" in read ? await readBase64(read.path, files) : read.text] as const;
  });
  return Object.fromEntries(await Promise.all(inputs));
}

/** Reads a file for an input. @throws {CliError} It is missing, a folder or too large. */
export async function readBase64(path: string, files: CliFiles): Promise<string> {
  const file = await files.open(path);
  if (file === null) throw missingFile(path);
  const { dialogueLimits, encodeFile } = await import("../../workflow/dialogue/mod.ts");
  const bytes = new Uint8Array(await new Response(file.stream()).arrayBuffer());
  const { fileBytesMax } = dialogueLimits;
  if (bytes.length > fileBytesMax) throw wrongUsage(`${path} must not exceed ${fileBytesMax} bytes`);
  return encodeFile(bytes);
}
