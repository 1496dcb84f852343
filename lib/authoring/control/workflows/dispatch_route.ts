/** The relay of workflows: a frontend sends what its user did, and the platform says in whose name and where. */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { requireUnarchived } from "../../../fans/directory/directory.ts";
import { idempotencyKeyOf } from "../../../http/idempotency/idempotency.ts";
import { type JsonText, jsonText, named, route } from "../../../http/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import {
  type DialogueContext,
  dialogueLimits,
  parseRequest,
  type WorkflowRequest,
} from "../../../workflow/dialogue/mod.ts";
import { jsonObject, plainObject, uuidText } from "../../table/mod.ts";
import { type Author, requirePerson } from "../access/authors.ts";
import { createDialogueToken } from "../access/dialogue_tokens.ts";
import { homeOf, requireAccess } from "../access/roles.ts";
import { type AuthorCall, idOf, idParams, nounOf } from "../jsonapi/documents.ts";
import { platformHome } from "../kind.ts";
import type { ResourceRoutesContext } from "../write.ts";
import { Refusal, Relay } from "./relay.ts";

/** Age in ms from which the token of a dialogue is replaced: it lives twice as long. */
const tokenAgeMsMax = 300_000;
const tokensMax = 10_000;
/** Time in ms for a request to arrive: 15 MB by a line of 2 Mbit/s. */
const bodyMsMax = 60_000;

const ScopeSchema = v.strictObject({
  type: v.pipe(
    v.picklist(["organisations", "spaces", "projects", "events"]),
    v.description("Where the workflow runs, which must be among its `availability`"),
  ),
  id: v.pipe(uuidText, v.description("Id of the organisation, space, project or event")),
});
const text = (description: string) => v.exactOptional(v.pipe(v.string(), v.description(description)));
const DispatchBody = named(
  "WorkflowDispatch",
  v.strictObject({
    scope: v.pipe(ScopeSchema, v.description("What the workflow runs on")),
    request: v.pipe(
      v.object({
        action: text("The pressed button"),
        taskId: text("The running task"),
        inputs: v.exactOptional(
          v.pipe(v.record(v.string(), v.string()), v.description("Texts, and files in Base64")),
        ),
        payload: v.exactOptional(
          v.pipe(
            v.record(v.string(), v.unknown()),
            v.description("The payload of the last answer, untouched"),
          ),
        ),
      }),
      v.description("What the person did, which the backend gets"),
    ),
  }),
);
const ViewSchema = named("WorkflowView", v.record(v.string(), v.unknown()));

type Scope = v.InferOutput<typeof ScopeSchema>;
type ViewJson = v.InferOutput<typeof ViewSchema>;

interface WorkflowAttributes {
  readonly name: string;
  readonly endpoint_url: string;
  readonly availability: readonly string[];
  readonly enabled: boolean;
}

/** Builds the route that sends a request to the backend of a workflow. */
export function dispatchRoute(context: ResourceRoutesContext) {
  const { services, author } = context;
  const { outbound, userAgent } = services;
  const relay = outbound === null ? null : new Relay(outbound, userAgent);
  const tokens = new Cache<string>({ entriesMax: tokensMax, maxAgeMs: tokenAgeMsMax, clock: services.clock });
  return route({
    method: "POST",
    path: "/api/v2/workflows/:workflowId/dispatch",
    operation: "dispatchWorkflow",
    summary: "Send a request to the backend of a workflow",
    description:
      "Fills in the context from the scope, and sends the request to the backend with a token of its own: for ten minutes at most, for that scope and backend alone, and for the caller's role there. The caller's token is never sent. The answer of the backend is answered as it is. An `Idempotency-Key` is sent on: the backend recognises repetitions, and nothing is sent twice by itself. Needs a role in the scope.",
    auth: author,
    params: idParams("workflows"),
    body: {
      schema: v.strictObject({ scope: plainObject(ScopeSchema), request: jsonObject }),
      described: DispatchBody,
      maxBytes: dialogueLimits.requestBytesMax,
      msMax: bodyMsMax,
      example: {
        scope: { type: "events", id: "2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31" },
        request: { action: "go", inputs: { name: "Quarter-final" } },
      },
    },
    responses: { 200: { description: "The view that the backend answered with", schema: ViewSchema } },
    errors: [
      ...([
        "forbidden",
        "not_found",
        "not_available",
        "conflict",
        "project_archived",
        "unprocessable",
        "rate_limited",
      ] as const),
      ...(["provider_error", "provider_timeout", "provider_unavailable", "busy"] as const),
    ],
    async handle(call) {
      const { principal } = call;
      requirePerson(principal, "run a workflow");
      const { scope } = call.body;
      const id = idOf(call as AuthorCall, "workflows");
      const { name, url } = await runnable(principal, id, scope, context);
      const { context: where, chain, role } = await contextOf(principal, scope, context);
      const request = requestOf(call.body.request, where);
      if (relay === null)
        throw new AppError(
          "not_available",
          "Cannot run workflows, as this deployment calls no other servers",
        );
      const [home = platformHome] = chain.homes;
      const { eventId } = where;
      // The same token for a while, so that a backend which remembers whom it verified asks no more.
      const key = [principal.token.id, id, url, eventId ?? home.id, role].join(" ");
      const token = await tokens.getOrLoad(key, async () => {
        const limits = { scope: home, eventId, audience: url };
        const created = await createDialogueToken(services, principal, { name, ...limits });
        return { value: created.token };
      });
      try {
        const idempotencyKey = idempotencyKeyOf(call.request);
        const view = await relay.send({ name, url, request, token, idempotencyKey });
        return jsonText(view as JsonText<ViewJson>);
      } catch (error) {
        if (error instanceof Refusal && error.backendStatus === 401) tokens.delete(key);
        throw error;
      }
    },
  });
}

/**
 * Returns name and address of a workflow that may be started in a scope.
 *
 * @throws {AppError} `not_found`; `not_available`: it is switched off, or for other scopes.
 */
async function runnable(author: Author, id: string, { type }: Scope, { reader }: ResourceRoutesContext) {
  const { data } = await reader.one(author, "workflows", id, { include: [], fields: new Map() });
  const { name, endpoint_url: url, availability, enabled } = data.attributes as unknown as WorkflowAttributes;
  if (!enabled) throw new AppError("not_available", `Cannot run “${name}”, as it is switched off`);
  if (availability.includes(nounOf(type))) return { name, url };
  const detail = `Expected a scope where “${name}” can be started: ${availability.join(", ")}`;
  throw new AppError("not_available", detail, { fields: [{ pointer: "/scope/type", detail }] });
}

/**
 * Returns the context of a scope, of ids that exist alone, with the caller's role there.
 *
 * @throws {AppError} `not_found`: there is no such scope, or the caller has no role in it.
 */
async function contextOf(
  author: Author,
  { type, id }: Scope,
  { services, kinds, reader }: ResourceRoutesContext,
) {
  const kind = kinds[type];
  const home = kind === undefined ? null : await homeOf(services, kind, id);
  const { chain, role } = await requireAccess(services, author, home, {
    needed: "viewer",
    noun: nounOf(type),
  });
  // Dialogues are there to change things.
  if (home?.kind === "project") requireUnarchived(await services.directory.project(home.id));
  if (type === "events") await reader.one(author, type, id, { include: [], fields: new Map() });
  const above = Object.fromEntries(chain.homes.map(each => [`${each.kind}Id`, each.id]));
  const own = type === "events" ? { eventId: id } : {};
  const context: DialogueContext = { baseURL: services.publicUrl, ...above, ...own };
  return { chain, role, context };
}

/** @throws {AppError} `validation_failed`, with pointers into the body. */
function requestOf(sent: Readonly<Record<string, unknown>>, context: DialogueContext): WorkflowRequest {
  try {
    return parseRequest({ ...sent, context });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const fields = (error.fields ?? []).map(field => ({ ...field, pointer: `/request${field.pointer}` }));
    throw new AppError(error.code, error.message, { fields });
  }
}
