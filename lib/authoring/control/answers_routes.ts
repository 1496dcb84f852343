/** What fans sent to an element which asks for texts, and which of it is shown. */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { describedText, integerParameter, named, route } from "../../http/mod.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import { answersMax, findAnswers, listAnswers } from "../feeds/mod.ts";
import type { Role } from "../table/mod.ts";
import { homeOf, isReached, requireAccess } from "./access/roles.ts";
import { answer, idOf, idParams, isDryRun, pageLinks, selfOf, writeErrors } from "./jsonapi/documents.ts";
import { dryRun } from "./jsonapi/schemas.ts";
import { type Home, homePartition, type Kind, notFound } from "./kind.ts";
import { type ShownAnswer, shownAnswersMax } from "./kinds/elements.ts";
import { runTransaction } from "./transaction.ts";
import { type ResourceRoutesContext, write } from "./write.ts";

/** Most texts that one request shows or hides. */
const changesMax = 100;

const shown = v.pipe(v.boolean(), v.description("True if feeds show it"));
const AnswerList = named(
  "AnswerList",
  v.object({
    data: v.array(
      v.object({
        type: v.literal("answers"),
        id: describedText("Id of the text"),
        attributes: v.object({
          text: describedText("What the fan wrote"),
          at: v.pipe(v.number(), v.description("When, in Unix seconds")),
          shown,
        }),
      }),
    ),
    links: v.object({
      self: describedText("Address of the page"),
      first: describedText("Address of the first page"),
      prev: v.pipe(v.null(), v.description("Pages lead forward alone")),
      next: v.pipe(v.nullable(v.string()), v.description("Address of the next page")),
    }),
  }),
);
const ShownAnswers = named(
  "ShownAnswers",
  v.strictObject({
    data: v.pipe(
      v.array(
        v.strictObject({
          type: v.literal("answers"),
          id: describedText("Id of the text"),
          attributes: v.pipe(v.strictObject({ shown }), v.description("What feeds are to do with it")),
        }),
      ),
      v.minLength(1),
      v.maxLength(changesMax),
      v.description("Texts to show or hide"),
    ),
  }),
);

/** Builds the routes of texts that fans send. */
export function answersRoutes(kind: Kind, context: ResourceRoutesContext) {
  return [listRoute(kind, context), showRoute(kind, context)];
}

function listRoute(kind: Kind, context: ResourceRoutesContext) {
  const { services, author } = context;
  return route({
    method: "GET",
    path: "/api/v2/elements/:elementId/answers",
    operation: "listAnswers",
    summary: "List the texts that fans sent to an element",
    description: `Lists the newest ${answersMax} texts, newest first, without who sent them. Needs the role viewer.`,
    auth: author,
    params: idParams("elements"),
    query: v.strictObject({
      "page[count]": v.optional(
        integerParameter({ description: "Entries of the page", minimum: 1, maximum: 100 }),
        "20",
      ),
      "page[cursor]": v.exactOptional(describedText("The cursor in `links.next` of the page before")),
    }),
    responses: { 200: { description: "A page of the texts", schema: AnswerList } },
    errors: ["not_found", "forbidden", "not_acceptable"],
    handle: async call => {
      const id = idOf(call, "elements");
      const { organisationId, projectId, shownIds } = await elementOf(
        kind,
        context,
        call.principal,
        id,
        "viewer",
      );
      const scope = {
        organisationId,
        spaceId: "",
        userId: call.principal.user.id,
        resource: `elements/${id}/answers`,
        filters: {},
      };
      const { "page[count]": limit, "page[cursor]": given } = call.query;
      const cursor = services.cursors.open(scope, given, "page[cursor]");
      const found = await listAnswers(services.store, { projectId, id }, { limit, cursor });
      const data = found.map(({ id: of, text: sent, at }) => ({
        type: "answers",
        id: of,
        attributes: { text: sent, at: Math.floor(at / 1_000), shown: shownIds.has(of) },
      }));
      const end = found.length < limit ? null : (found.at(-1)?.id ?? null);
      const links = pageLinks(selfOf(services, call), services.cursors.seal(scope, end));
      return answer(call, { data, links } as never) as never;
    },
  });
}

function showRoute(kind: Kind, context: ResourceRoutesContext) {
  const { services, author } = context;
  return route({
    method: "PATCH",
    path: "/api/v2/elements/:elementId/answers",
    operation: "showAnswers",
    summary: "Show or hide texts that fans sent to an element",
    description: `The history of the event has the texts that are shown, at most ${shownAnswersMax} of an element, the one that was shown last first. Needs the role creator.`,
    auth: author,
    params: idParams("elements"),
    query: v.strictObject(dryRun),
    body: {
      schema: ShownAnswers,
      mediaTypes: [jsonApiMediaType],
      example: { data: [{ type: "answers", id: "1750000000000-1", attributes: { shown: true } }] },
    },
    responses: {
      204: { description: "They are shown or hidden" },
      200: { description: "They could be, with `dry_run`" },
    },
    errors: writeErrors,
    handle: async call => {
      const id = idOf(call, "elements");
      const { projectId } = await elementOf(kind, context, call.principal, id, "creator");
      const { data } = call.body;
      const ids = data.map(each => each.id);
      const found = await findAnswers(services.store, { projectId, id }, ids);
      const faults = data.flatMap(({ attributes }, index) =>
        attributes.shown && found[index] === null
          ? [{ pointer: `/data/${index}/id`, detail: "Expected the id of a text of the element" }]
          : [],
      );
      if (faults.length > 0)
        throw new AppError("not_found", "Cannot show texts that the element does not have", {
          fields: faults,
        });
      const answers = data.map(({ id: of, attributes }, index): ShownAnswer | { readonly id: string } => {
        const known = found[index];
        return attributes.shown && known ? { id: of, text: known.text } : { id: of };
      });
      const operation = { op: "update", kind, id, pointer: "/data", more: { answers } } as const;
      const document = await write(call, operation, context, false);
      const etag = String(document.data.meta?.etag);
      return { status: isDryRun(call) ? 200 : 204, headers: { etag } } as never;
    },
  });
}

async function elementOf(
  kind: Kind,
  { services }: ResourceRoutesContext,
  caller: Parameters<typeof requireAccess>[1],
  id: string,
  needed: Role,
) {
  const home = await homeOf(services, kind, id);
  // The token of an event may reach the element; that is known once it is read.
  const access = { needed, noun: "element", eventId: null } as const;
  const { chain } = await requireAccess(services, caller, home, access);
  const { id: projectId } = home as Home;
  const [entity] = await runTransaction(services.store, homePartition(home as Home), {
    keys: kind.records.keys(id),
    steps: [tx => kind.records.get(tx, id)],
    isDry: true,
  });
  if (!entity || !isReached(caller, kind, entity, needed === "viewer" ? "read" : "write"))
    throw notFound("element");
  const answers = (entity.state?.answers ?? []) as readonly ShownAnswer[];
  return { organisationId: chain.organisationId, projectId, shownIds: new Set(answers.map(each => each.id)) };
}
