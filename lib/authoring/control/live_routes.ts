/** What other authors do in a project: where they are, and what they change. */

import * as v from "valibot";
import { bearerToken } from "../../auth/tokens/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import type { LivePart, LiveSource, LiveView } from "../../http/live_streams.ts";
import { describedText, empty, type JsonText, jsonText, named, route, stream } from "../../http/mod.ts";
import { acceptsEvents, eventStreamHeaders } from "../../http/replies/replies.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import { decide, type Stored } from "../../storage/mod.ts";
import { FeedView } from "../feeds/mod.ts";
import { uuidText } from "../table/mod.ts";
import { type Author, requirePerson } from "./access/authors.ts";
import { requireAccess } from "./access/roles.ts";
import { type AuditRecord, auditKey } from "./audit.ts";
import { idOf, idParams } from "./jsonapi/documents.ts";
import { exampleId } from "./jsonapi/schemas.ts";
import { type Home, homeNamed, homePartition } from "./kind.ts";
import type { ResourceRoutesContext } from "./write.ts";

const presenceKey = "presence";
/** Time for which an author is shown after the last word, in ms. */
const presenceMs = 30_000;
/** Most places of a project that are shown, and of one author. */
const presencesMax = 100;
const presencesPerAuthorMax = 10;
const placeCharactersMax = 200;
/** Most entries of the trail that are shown, the newest. */
const changesMax = 100;
/** Most entries that a look at the trail finds; more wait for the next one. */
const newMax = 1_000;

interface Presence {
  readonly userId: string;
  readonly id: string;
  readonly name: string;
  readonly place: string;
  readonly field: string | null;
  /** Unix ms. */
  readonly at: number;
}

const nullable = (description: string) => v.pipe(v.nullable(v.string()), v.description(description));

const LiveSchema = named(
  "LiveAuthoring",
  v.object({
    now: v.pipe(v.number(), v.description("When the document was made, in Unix milliseconds")),
    presence: v.object({
      authors: v.pipe(
        v.array(
          v.object({
            id: describedText("Id of the author and of the window"),
            user_id: describedText("The author"),
            name: describedText("Name of the author"),
            place: describedText("Where the author is"),
            field: nullable("What the author edits there"),
          }),
        ),
        v.description("Who is where, first come first"),
      ),
    }),
    changes: v.object({
      entries: v.pipe(
        v.array(
          v.object({
            id: describedText("Id of the entry"),
            at: v.pipe(v.number(), v.description("When, in Unix seconds")),
            by: nullable("The author; null for the platform itself"),
            changes: v.array(
              v.object({
                op: describedText("`add`, `update` or `remove`"),
                type: describedText("Type of the resource"),
                id: describedText("Id of the resource"),
                etag: v.exactOptional(describedText("Its tag after the change")),
                title: v.exactOptional(
                  describedText("What it is called after the change, or was before it was removed"),
                ),
                attributes: v.exactOptional(
                  v.pipe(v.array(v.string()), v.description("Names of the attributes that were written")),
                ),
                action: v.exactOptional(describedText("The action that was asked for")),
              }),
            ),
          }),
        ),
        v.description("The newest changes of the project, oldest first"),
      ),
    }),
  }),
);

const place = v.pipe(v.string(), v.minLength(1), v.maxLength(placeCharactersMax));
const PresenceBody = named(
  "Presence",
  v.strictObject({
    data: v.pipe(
      v.strictObject({
        type: v.literal("presences"),
        id: v.pipe(uuidText, v.description("Id of the window, which the client chooses")),
        attributes: v.pipe(
          v.strictObject({
            place: v.pipe(v.nullable(place), v.description("Where the author is; null: nowhere any more")),
            field: v.exactOptional(v.pipe(v.nullable(place), v.description("What the author edits there"))),
          }),
          v.description("Texts that other authors get as they are"),
        ),
      }),
      v.description("A window of the author"),
    ),
  }),
);

export function liveRoutes(context: ResourceRoutesContext) {
  return [watchRoute(context), presenceRoute(context)];
}

function watchRoute(context: ResourceRoutesContext) {
  const { services, author } = context;
  return route({
    method: "GET",
    path: "/api/v2/projects/:projectId/live",
    operation: "getLiveAuthoring",
    summary: "See what other authors do in a project",
    description: `Answers where authors are, and the newest ${changesMax} changes of the project. With \`Accept: text/event-stream\`, a stream begins with that as the event \`hello\`; each later event has what changed. It ends with the caller's role. Needs the role viewer.`,
    auth: author,
    params: idParams("projects"),
    responses: { 200: { description: "Presence and changes", schema: LiveSchema, isStreamable: true } },
    errors: ["not_found", "busy"],
    handle: async call => {
      const { request, info } = call;
      const home = homeNamed({ type: "projects", id: idOf(call, "projects") });
      const parts = partsOf(context, home, request);
      const textOf = ([presence, changes]: readonly string[]) =>
        `{"now":${services.clock()},"presence":${presence},"changes":${changes}}` as JsonText<never>;
      if (acceptsEvents(request.headers.get("accept"))) {
        const first = (contents: readonly string[]) => ({ event: "hello", data: textOf(contents) });
        const body = await services.live.open({ parts, limit: 1, stopping: info.stopping, first });
        return stream(200, body, eventStreamHeaders);
      }
      const sources = await Promise.all(parts.map(part => part.locate()));
      const views = await Promise.all(sources.map(source => source.read(null)));
      return jsonText(textOf(views.map(view => view.render(1).data)), {
        "cache-control": "no-store",
        vary: "accept",
      });
    },
  });
}

/** Returns the parts of a stream, whose sources all authors of the project share. */
function partsOf(
  { services }: ResourceRoutesContext,
  home: Home,
  request: { readonly headers: Headers },
): readonly LivePart[] {
  const token = bearerToken(request.headers.get("authorization"));
  const partition = homePartition(home);
  const read = {
    presence: async (last: LiveView | null) => {
      const [stored] = await services.store.read(partition, [{ type: "record", key: presenceKey }]);
      const authors = presentIn(stored, services.clock()).map(({ userId, id, name, place, field }) => {
        return { id: `${userId}/${id}`, user_id: userId, name, place, field };
      });
      return new FeedView({ authors }, last);
    },
    changes: async (last: LiveView | null) => {
      const known =
        last instanceof FeedView ? (last.feed as { readonly entries: readonly Change[] }).entries : [];
      const cursor = known.at(-1)?.id;
      const newest = { type: "log", key: auditKey, limit: changesMax, reverse: true } as const;
      const next = { type: "log", key: auditKey, limit: newMax, cursor: cursor ?? "" } as const;
      const [found] = await services.store.read(partition, [cursor === undefined ? newest : next]);
      if (found.length === 0 && last !== null) return last;
      const ordered = cursor === undefined ? found.toReversed() : found;
      const added = ordered.map(({ id, value }) => changeOf(id, JSON.parse(value) as AuditRecord));
      return new FeedView({ entries: [...known, ...added].slice(-changesMax) }, last);
    },
  };
  return (["presence", "changes"] as const).map(event => ({
    // A part of its own for each token, so that its role is looked at anew.
    name: `${event}/${home.id}/${token}`,
    event,
    wrap: data => `{"${event}":${data}}`,
    async locate(): Promise<LiveSource> {
      const caller = await services.authors.verify(token);
      await requireAccess(services, caller, home, { needed: "viewer", noun: "project" });
      return { key: `authoring_${event}/${home.id}`, read: read[event] };
    },
  }));
}

type Change = ReturnType<typeof changeOf>;

function changeOf(id: string, { at, userId, changes }: AuditRecord) {
  return { id, at, by: userId, changes };
}

function presentIn(stored: Stored | null, now: number): readonly Presence[] {
  const all = stored === null ? [] : (JSON.parse(stored.value) as readonly Presence[]);
  return all.filter(({ at }) => now - at < presenceMs);
}

function presenceRoute({ services, author }: ResourceRoutesContext) {
  return route({
    method: "PUT",
    path: "/api/v2/projects/:projectId/live",
    operation: "setPresence",
    summary: "Say where you are in a project",
    description: `Shows the caller to other authors for ${presenceMs / 1_000} s: repeat it every 10 s, and when place or field change. A project shows ${presencesMax} windows, an author ${presencesPerAuthorMax}, of which the oldest ends. Needs the role viewer.`,
    auth: author,
    params: idParams("projects"),
    query: v.strictObject({}),
    body: {
      schema: PresenceBody,
      mediaTypes: [jsonApiMediaType],
      example: {
        data: {
          type: "presences",
          id: exampleId,
          attributes: { place: "events/final/run", field: "question" },
        },
      },
    },
    responses: { 204: { description: "It is shown" } },
    errors: ["not_found", "forbidden", "conflict"],
    handle: async call => {
      const { principal } = call;
      requirePerson(principal, "be present");
      const home = homeNamed({ type: "projects", id: idOf(call, "projects") });
      await requireAccess(services, principal, home, { needed: "viewer", noun: "project" });
      const now = services.clock();
      await decide(services.store, homePartition(home), {
        reads: [{ type: "record", key: presenceKey }],
        idempotent: true,
        apply([stored]) {
          const value = JSON.stringify(withPresence(presentIn(stored, now), principal, call.body.data, now));
          const write = { type: "put", key: presenceKey, value, expireAt: now + presenceMs } as const;
          return { writes: [write], answer: null };
        },
      });
      return empty();
    },
  });
}

function withPresence(
  present: readonly Presence[],
  { user: { id: userId, name } }: Author,
  { id, attributes: { place, field = null } }: v.InferOutput<typeof PresenceBody>["data"],
  at: number,
): readonly Presence[] {
  const isSame = (other: Presence): boolean => other.userId === userId && other.id === id;
  if (place === null) return present.filter(other => !isSame(other));
  const shown = { userId, id, name, place, field, at };
  if (present.some(isSame)) return present.map(other => (isSame(other) ? shown : other));
  const own = present.filter(other => other.userId === userId);
  const oldest = own.length < presencesPerAuthorMax ? null : own.reduce((a, b) => (b.at < a.at ? b : a));
  const others = present.filter(other => other !== oldest);
  if (others.length < presencesMax) return [...others, shown];
  throw new AppError(
    "conflict",
    `Cannot show where you are: the project shows ${presencesMax} windows already`,
  );
}
