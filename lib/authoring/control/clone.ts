/** The clone of an event with all its elements. */

import * as v from "valibot";
import { AppError, jsonPointer } from "../../base/errors/mod.ts";
import { named, type Reply, route } from "../../http/mod.ts";
import { matchesTag } from "../../http/replies/byte_reply.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import { resources } from "../table/mod.ts";
import { homeOf, requireAccess } from "./access/roles.ts";
import { eventKey } from "./contents.ts";
import { copiedAttributes, copyElements, readSource } from "./copies.ts";
import { type AuthorCall, created, idOf, idParams, isDryRun, writeErrors } from "./jsonapi/documents.ts";
import { newObjectOf } from "./jsonapi/input.ts";
import { documentSchema, dryRun, ResourceBody } from "./jsonapi/schemas.ts";
import { eventCodec, type Kind, notFound, unprocessable } from "./kind.ts";
import { type ResourceRoutesContext, write } from "./write.ts";

const { events } = resources;
const CloneBody = named(
  "EventClone",
  v.strictObject({
    data: v.pipe(
      v.strictObject({
        type: v.literal("events"),
        attributes: v.exactOptional(
          v.strictObject({
            name: v.exactOptional(
              v.pipe(
                events.attributes.name.schema,
                v.description("Name of the copy, by default that of the event"),
              ),
            ),
          }),
        ),
      }),
      v.description("Resource object of the copy, with what differs from the event"),
    ),
  }),
);

/** What belongs to one showing: a copy is a manual event that nobody has started. */
const unplanned = {
  start_mode: "manual",
  start_at: null,
  end_mode: "duration",
  end_at: null,
  repeat: false,
  extra_time_duration: 0,
};

export function cloneRoute(kind: Kind, context: ResourceRoutesContext) {
  return route({
    method: "POST",
    path: "/api/v2/events/:eventId/clone",
    operation: "cloneEvent",
    summary: "Clone an event",
    description:
      "Copies an event with its elements, which are drafts then. The copy is a manual event without times. What mentions the event or its elements mentions the copies. Needs the role creator.",
    auth: context.author,
    params: idParams("events"),
    query: v.strictObject(dryRun),
    body: {
      schema: ResourceBody,
      described: CloneBody,
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "events", attributes: { name: "Second leg" } } },
    },
    responses: {
      201: { description: "The copy", schema: documentSchema(events) },
      200: { description: "What would be created, with `dry_run`", schema: documentSchema(events) },
    },
    errors: writeErrors,
    handle: async call => (await cloneEvent(call as AuthorCall, kind, context)) as never,
  });
}

async function cloneEvent(call: AuthorCall, kind: Kind, context: ResourceRoutesContext): Promise<Reply> {
  const { services } = context;
  const { attributes: written = {} } = newObjectOf(call, "events");
  const others = Object.keys(written).filter(name => name !== "name");
  if (others.length > 0)
    throw unprocessable(
      ...others.map(name => ({
        pointer: `/data/attributes${jsonPointer(name)}`,
        detail: "Is that of the event: change the copy",
      })),
    );
  const sourceId = idOf(call, "events");
  const { home } = await requireAccess(services, call.principal, await homeOf(services, kind, sourceId), {
    needed: "creator",
    noun: "event",
  });
  const source = await readSource(services, home, sourceId, eventKey(sourceId));
  if (source === null) throw notFound("event");
  const event = eventCodec.decode(source.stored);
  const etag = `"v${event.rev}.${source.contents.rev}"`;
  const ifMatch = call.request.headers.get("if-match");
  if (ifMatch !== null && !matchesTag(ifMatch, etag))
    throw new AppError("precondition_failed", "Cannot clone the event: it has changed since it was read", {
      headers: { etag },
    });
  const id = await services.places.newId(home);
  const copied = await copyElements(services, source, sourceId, {
    home,
    id,
    as: "event",
    isDry: isDryRun(call),
  });
  const attributes = {
    ...copiedAttributes(event.attributes, copied.ids),
    ...unplanned,
    name: event.attributes.name,
    ...written,
  };
  const object = {
    type: "events",
    attributes: { name: attributes.name },
    relationships: { project: { data: { type: "projects", id: home.id } } },
  };
  const operation = { op: "add", kind, id, object, pointer: "/data", more: { attributes, copied } } as const;
  return created(call, await write(call, operation, context));
}
