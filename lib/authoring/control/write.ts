/**
 * Creates, changes and removes resources: one operation or many, which succeed or fail as one.
 *
 * The path of a batch: read the objects against their definitions, find the one partition of all of them and the caller's role
 * there, do what other partitions have to do first, run the operations in a transaction, commit, and forget what is cached.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isUuid, uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { requireUnarchived } from "../../fans/directory/directory.ts";
import type { Project } from "../../fans/directory/mod.ts";
import type { HomeKind } from "../../fans/directory/records.ts";
import { isSameHome } from "../../fans/directory/records.ts";
import type { Guard } from "../../http/mod.ts";
import { matchesTag } from "../../http/replies/byte_reply.ts";
import type { Stored, Write } from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { Role } from "../table/mod.ts";
import type { Author } from "./access/authors.ts";
import { type Access, homeFor, homeOf, isReached, isRoleAtLeast, requireAccess } from "./access/roles.ts";
import { type Recorded, recordChanges } from "./audit.ts";
import {
  type ResourceObject as Answered,
  type AuthorCall,
  entityTag,
  isDryRun,
  keysOf,
  type ShownAs,
  show,
  viewOf,
} from "./jsonapi/documents.ts";
import { joinAttributes, namesIn, type ResourceObject, readInput, withoutEchoes } from "./jsonapi/input.ts";
import type { Query } from "./jsonapi/types.ts";
import {
  type Attributes,
  type Circumstances,
  type Entity,
  type Home,
  homePartition,
  type Identifier,
  type Input,
  type Kind,
  notFound,
  ownerOf,
  ownHome,
  platformHome,
  projectKey,
  unprocessable,
} from "./kind.ts";
import type { Reader } from "./read.ts";
import type { ControlServices, Kinds } from "./services.ts";
import { runTransaction, type Transaction, together } from "./transaction.ts";

export interface WriteOperation {
  readonly op: "add" | "update" | "remove";
  readonly kind: Kind;
  /** Id of the record: a new one for `add`. */
  readonly id: string;
  /** The parent that the path of a creation names. */
  readonly parent?: Identifier;
  /** Absent for `remove`, and where `more` is all. */
  readonly object?: ResourceObject;
  readonly more?: Partial<Input>;
  /** Entity tags of which one must be current. */
  readonly ifMatch?: string | undefined;
  /** Where the operation's resource object is in the body. */
  readonly pointer: string;
  /** Where the operation is in the body, for faults that lie in no member; absent where it is the whole body. */
  readonly at?: string;
}

interface WriteRequest {
  readonly author: Author;
  readonly operations: readonly WriteOperation[];
  readonly requestId: string;
  readonly isDry: boolean;
  readonly shown: ShownAs;
  /** Makes a repetition of the request leave what the first one left; null: it has no idempotency key. */
  readonly once: Once | null;
}

/** An operation whose input is checked. */
interface Prepared extends WriteOperation {
  readonly input: Input;
  readonly home: Home;
}

export class Writer {
  readonly #services: ControlServices;
  readonly #kinds: Kinds;

  constructor(services: ControlServices, kinds: Kinds) {
    this.#services = services;
    this.#kinds = kinds;
  }

  /**
   * Makes all changes of a request, or none. Returns the resources that the operations leave; null for removed ones.
   *
   * @throws {AppError} `not_found`, `forbidden`, `unprocessable`, `conflict`, `precondition_failed`: nothing was written.
   */
  async write(request: WriteRequest): Promise<readonly (Answered | null)[]> {
    const { store, clock, directory, roles, settingsFaults, base } = this.#services;
    const { home, prepared, access } = await this.#prepare(request);
    const organisationId = access?.chain.organisationId ?? home.id;
    const earlier = await this.#earlier(home, request);
    if (earlier !== null) return await this.#shownAgain(home, prepared, earlier, request);
    const after: (() => Promise<void> | void)[] = [];
    const run = async () => {
      if (!request.isDry) after.push(await this.#services.beforeShowChange(changedShowIds(prepared)));
      const operations = await this.#beforehand(prepared, request, organisationId, after);
      const circumstances = { now: Math.floor(clock() / 1_000), author: request.author };
      const made = new Map<Prepared, Recorded>();
      return await runTransaction(store, homePartition(home), {
        keys: [
          ...operations.flatMap(({ kind, id, input }) => keysOf(kind, id, input.refs)),
          ...(home.kind === "project" ? [projectKey] : []),
        ],
        steps: [
          ...operations.map(
            operation => (tx: Transaction) =>
              located(operation, () => {
                const { kind, id } = operation;
                const previous = kind.records.get(tx, id);
                const applied = apply(operation, tx, { ...circumstances, settingsFaults, base });
                const object = show(kind, id, tx, circumstances, request.shown)?.object ?? null;
                const etag = object?.meta?.etag as string | undefined;
                made.set(operation, { ...applied, etag, entity: kind.records.get(tx, id) ?? previous });
                return object;
              }),
          ),
          tx => recordChanges(tx, [...made.values()], request, circumstances),
          tx => noteOnce(tx, operations, request, clock()),
        ],
        isDry: request.isDry,
      });
    };
    const answers = await run().finally(() => Promise.allSettled(after.map(async end => end())));
    // Forgets only what changed: a producer who writes elements all evening keeps the project and the roles.
    const idsOf = (type: string) =>
      prepared.flatMap(each => (each.kind.resource.type === type ? each.id : []));
    const [events, { kind, id }] = [idsOf("events"), home];
    if (kind !== "platform" && [...events, ...idsOf(`${kind}s`)].length > 0)
      directory.forget({ kind, id }, events);
    if ([...idsOf("organisations"), ...idsOf("scope_roles")].length > 0) roles.forget(organisationId);
    return answers.slice(0, prepared.length);
  }

  /** Returns the ids that the same request left before; null where it is the first one. */
  async #earlier(home: Home, { once, isDry }: WriteRequest): Promise<readonly string[] | null> {
    if (once === null || isDry) return null;
    const [stored] = await this.#services.store.read(homePartition(home), [
      { type: "record", key: once.key },
    ]);
    return notedIds(stored, once);
  }

  /** Returns the resources of an earlier request as they are now; null for those that are gone. */
  async #shownAgain(
    home: Home,
    prepared: readonly Prepared[],
    ids: readonly string[],
    { author, shown }: WriteRequest,
  ): Promise<readonly (Answered | null)[]> {
    const { store, clock } = this.#services;
    const circumstances = { now: Math.floor(clock() / 1_000), author };
    return await runTransaction(store, homePartition(home), {
      keys: [],
      steps: prepared.map(({ kind }, index) => (tx: Transaction) => {
        return show(kind, ids[index] ?? "", tx, circumstances, shown)?.object ?? null;
      }),
      isDry: true,
    });
  }

  /** Reads all operations, and finds their one home. */
  async #prepare(request: WriteRequest) {
    const created = new Map<string, Home>();
    const prepared: Prepared[] = [];
    const failures: AppError[] = [];
    let first: { readonly access: Access | null; readonly home: Home } | null = null;
    for (const operation of request.operations) {
      const { op, kind, object, pointer, parent, id, at = pointer } = operation;
      try {
        const { home, access } = await this.#locate(operation, request, created);
        first ??= { access, home };
        if (!isSameHome(first.home, home)) {
          const detail =
            "Expected a record of the same project, space or organisation as the operations before";
          throw unprocessable({ pointer: at, detail });
        }
        created.set(id, home);
        // Whoever may create a home may write what is in it.
        const role: Role = (access ?? first.access)?.role ?? "admin";
        const input =
          object === undefined
            ? { attributes: {}, refs: {}, action: null, pointer }
            : readInput(object, { resource: kind.resource, isNew: op === "add", role, pointer });
        prepared.push({ ...operation, home, input: { ...input, ...operation.more, parent } });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failures.push(locatedError(operation, error));
        // The operations behind may build on this one.
        if (error.code !== "unprocessable") break;
        created.set(id, first?.home ?? { kind: "project", id });
      }
    }
    if (failures.length > 0) throw together(failures);
    if (first === null) throw new TypeError("Cannot write without operations");
    return { prepared, ...first };
  }

  /** Finds the home of an operation, and the caller's access; null where an earlier operation creates the home. */
  async #locate(operation: WriteOperation, { author }: WriteRequest, created: ReadonlyMap<string, Home>) {
    const { op, kind, id, object, pointer, parent } = operation;
    if (op !== "add") {
      const home = created.get(id) ?? (await homeOf(this.#services, kind, id));
      if (home === null) throw notFound(kind.resource.noun);
      if (created.has(id)) return { home, access: null };
      const place = (await kind.accessIn?.(id, home)) ?? home;
      return { home, access: await this.#access(author, operation, place) };
    }
    const own = ownHome(kind, id);
    const under = ownerOf(kind, refsOf(object), parent);
    if (under === null) {
      requireOperator(author, kind);
      return { home: own ?? platformHome, access: null };
    }
    // A creation that names no parent fails with all its faults.
    const asNew = { resource: kind.resource, isNew: true, role: "admin", pointer } as const;
    if (under.id === "") readInput(object ?? { type: kind.resource.type }, asNew);
    const made = created.get(under.id);
    const owner = this.#kinds[under.type];
    const above = made ?? (owner === undefined ? null : await homeOf(this.#services, owner, under.id));
    if (above === null) throw this.#unknownOwner(under, operation);
    const refuse = (error: unknown): never => {
      const isUnknown = error instanceof AppError && error.code === "not_found";
      throw isUnknown ? this.#unknownOwner(under, operation) : error;
    };
    const access = made ? null : await this.#access(author, operation, above).catch(refuse);
    return { home: own ?? (await homeFor(this.#services, kind, above)), access };
  }

  async #access(author: Author, { kind }: WriteOperation, home: Home): Promise<Access> {
    const { noun, write } = kind.resource;
    const needed = write === "operator" ? "admin" : write;
    // Which event a record belongs to is known once the rule has read it.
    const eventId = kind.eventOf === undefined ? undefined : null;
    return await requireAccess(this.#services, author, home, { needed, noun, eventId });
  }

  /** The owner of a creation is in the path, or a relationship of the body. */
  #unknownOwner({ type }: Identifier, { parent, pointer }: WriteOperation): AppError {
    const noun = this.#kinds[type]?.resource.noun ?? type;
    if (parent !== undefined) return notFound(noun);
    const field = {
      pointer: `${pointer}/relationships/${noun.replaceAll(" ", "_")}`,
      detail: `Expected the id of an existing ${noun}`,
    };
    return new AppError("not_found", notFound(noun).message, { fields: [field] });
  }

  async #beforehand(
    prepared: readonly Prepared[],
    { isDry, author }: WriteRequest,
    organisationId: string,
    after: (() => Promise<void> | void)[],
  ): Promise<readonly Prepared[]> {
    const ready: Prepared[] = [];
    for (const operation of prepared) {
      const { kind, op, id, input, home } = operation;
      if (op === "add" && ownHome(kind, id) === null && !isDry) await this.#services.places.keep(id, home);
      if (op === "remove") await (isDry ? kind.checkRemoval?.(id, home) : kind.beforeRemoval?.(id, home));
      const more =
        op === "remove"
          ? undefined
          : await kind.before?.({ id, isNew: op === "add", input, isDry, author, organisationId });
      const { after: end, ...given } = more ?? {};
      if (end !== undefined) after.push(end);
      ready.push({ ...operation, input: { ...input, ...given } });
    }
    return ready;
  }
}

/** Notes a request under its key, in the commit of its changes. */
function noteOnce(
  tx: Transaction,
  operations: readonly Prepared[],
  { once }: WriteRequest,
  nowMs: number,
): null {
  if (once === null || tx.isUnchanged) return null;
  // A request that runs at the same time as this one has committed first.
  if (tx.get(once.key) !== null) {
    throw new AppError("idempotency_conflict", "Cannot answer yet: the same request is being carried out");
  }
  const ids = operations.map(({ id }) => id);
  const makesHome = operations.some(({ op, kind, id }) => op === "add" && ownHome(kind, id) !== null);
  tx.effect(onceWrite(once, { ids, makesHome, nowMs }));
  return null;
}

/** Requires a caller who may create what has no owner: an operator with an unlimited token. */
function requireOperator({ user, token: { scopes, roleCap } }: Author, { resource }: Kind): void {
  const isOperator = user.systemRole === "operator" && scopes === null;
  if (isOperator && (roleCap === null || isRoleAtLeast(roleCap, "admin"))) return;
  throw new AppError("forbidden", `Cannot create the ${resource.noun} as only operators may`);
}

/** Returns the ids of relationships to one record, as far as they can be read; faults are reported later. */
function refsOf(object: ResourceObject | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(object?.relationships ?? {}).flatMap(([name, value]) => {
    const id = (value as { readonly data?: { readonly id?: unknown } | null } | null)?.data?.id;
    return typeof id === "string" && isUuid(id) ? [[name, id.toLowerCase()] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Adds to an error in which operation of the body it arose. */
function locatedError({ at }: WriteOperation, error: AppError): AppError {
  if (at === undefined || error.fields !== undefined) return error;
  const { code, message, details, headers } = error;
  return new AppError(code, message, {
    fields: [{ pointer: at, detail: message }],
    ...(details === undefined ? {} : { details }),
    ...(headers === undefined ? {} : { headers }),
  });
}

function located<T>(operation: WriteOperation, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof AppError ? locatedError(operation, error) : error;
  }
}

/** Requires a home that is no archived project, unless the operation says whether it is to be one and nothing more. */
function requireChangeable({ home, kind, input }: Prepared, tx: Transaction): void {
  if (home.kind !== "project") return;
  const { archived, ...others } = input.attributes;
  const isAboutArchive = kind.resource.type === "projects" && archived !== undefined;
  if (isAboutArchive && (archived === false || Object.keys(others).length === 0)) return;
  requireUnarchived(tx.get<Project>(projectKey));
}

type ChangeCircumstances = Circumstances & Pick<ControlServices, "settingsFaults" | "base">;

/** Makes an operation in a transaction, and returns it as it was made. */
function apply(operation: Prepared, tx: Transaction, circumstances: ChangeCircumstances): Prepared {
  const { op, kind, id } = operation;
  const previous = kind.records.get(tx, id);
  const { author } = circumstances;
  const isFound = previous !== null && isReached(author, kind, previous, "write");
  if (op !== "add" && !isFound) throw notFound(kind.resource.noun);
  if (op === "add" && previous !== null)
    throw new AppError("conflict", `Cannot create the ${kind.resource.noun} as its id is taken`);
  requireChangeable(operation, tx);
  requireMatch(operation, previous, tx, circumstances);
  if (op === "remove") {
    if (previous !== null) kind.removed?.(previous, tx, circumstances);
    kind.records.set(tx, id, null);
    return operation;
  }
  const input = inputOf(operation, tx, circumstances);
  const next = changedEntity({ ...operation, input }, previous, tx, circumstances);
  if (!isReached(author, kind, next, "write")) throw notFound("event");
  if (next !== previous) kind.records.set(tx, id, next);
  return { ...operation, input };
}

/** Returns the input of an operation. A client may save what it read, with what it may not change. */
function inputOf({ kind, id, input }: Prepared, tx: Transaction, circumstances: ChangeCircumstances): Input {
  if (input.doubts === undefined) return input;
  const fields = new Map([[kind.resource.type, namesIn(input)]]);
  const shown = show(kind, id, tx, circumstances, { base: circumstances.base, fields, isListed: false });
  return shown === null ? input : withoutEchoes(input, shown);
}

function changedEntity(
  { kind, id, input, home }: Prepared,
  previous: Entity | null,
  tx: Transaction,
  { settingsFaults, ...circumstances }: ChangeCircumstances,
): Entity {
  const { now } = circumstances;
  const base: Entity = previous ?? { id, rev: 0, created: now, updated: now, attributes: {}, refs: {} };
  const attributes = joinAttributes(kind.resource, base, input);
  if (input.attributes.services !== undefined) {
    const owner = kind.resource.noun as HomeKind | "event";
    const pointer = `${input.pointer}/attributes/services`;
    const faults = settingsFaults(owner, attributes.services as Attributes, pointer);
    if (faults.length > 0) throw unprocessable(...faults);
  }
  const refs = Object.fromEntries(
    Object.entries({ ...base.refs, ...input.refs }).flatMap(([name, ref]) =>
      ref === null ? [] : [[name, ref]],
    ),
  );
  const change = { ...circumstances, previous, input, home };
  const wanted: Entity = { ...base, attributes, refs, rev: base.rev + 1, updated: now };
  const next = kind.prepare?.(wanted, tx, change) ?? wanted;
  if (previous !== null && isSameContent(previous, next)) return previous;
  kind.changed?.(next, tx, change);
  return next;
}

function isSameContent(a: Entity, b: Entity): boolean {
  const contentOf = ({ attributes, refs, state }: Entity): string =>
    JSON.stringify([attributes, refs, state ?? {}]);
  return contentOf(a) === contentOf(b);
}

function requireMatch(
  { kind, ifMatch }: WriteOperation,
  previous: Entity | null,
  tx: Transaction,
  circumstances: Circumstances,
): void {
  if (ifMatch === undefined || previous === null) return;
  // The tag covers what the record presents of others, so these must not change either.
  for (const key of kind.wants?.(previous.id) ?? []) tx.get(key);
  const tag = entityTag(previous, kind.present?.(previous, tx, circumstances) ?? { attributes: {} });
  if (matchesTag(ifMatch, tag)) return;
  throw new AppError(
    "precondition_failed",
    `Cannot change the ${kind.resource.noun}: it has changed since it was read`,
    {
      headers: { etag: tag },
    },
  );
}

/** Returns the ids of the events and elements that exist and that operations change or remove. */
function changedShowIds(operations: readonly Prepared[]): readonly string[] {
  const isOfShow = ({ op, kind: { resource } }: Prepared): boolean =>
    op !== "add" && (resource.type === "events" || resource.type === "elements");
  return operations.filter(isOfShow).map(({ id }) => id);
}

/** Time for which a key is noted, in ms: as long as replies are stored. That of a new home is noted for good, as its id follows from it. */
const notedMs = 86_400_000;

/**
 * A request with an idempotency key. The commit of its change notes the key and the ids: storage of replies alone could lose that note
 * when the process dies behind the commit.
 */
export interface Once {
  /** Key of the record that notes it. */
  readonly key: string;
  /** Digest of what is asked for. */
  readonly fingerprint: string;
}

/** Returns what identifies a request; null where it has no key. */
export function onceOf({ idempotency, principal, request }: AuthorCall): Once | null {
  if (idempotency === undefined) return null;
  // Requests of HTTP/1.0 may have no host in their URL.
  const { pathname } = new URL(request.url, "http://localhost");
  const name = JSON.stringify([principal.user.id, request.method, pathname, idempotency.key]);
  const digest = bytesToHex(sha256(utf8ToBytes(name)));
  return { key: keyName("once", digest), fingerprint: idempotency.fingerprint };
}

/** Returns the chance behind the id of a new home: a repetition has to meet the partition of the first request. */
export function chanceOf(once: Once | null, index: number, random: RandomBytes): RandomBytes {
  return once === null ? random : bytesFrom(`${once.key} ${index}`);
}

/** Returns bytes in place of chance: up to 32, always the same for a name. */
export function bytesFrom(name: string): RandomBytes {
  return length => sha256(utf8ToBytes(name)).slice(0, length);
}

/**
 * Returns the ids that the first request under a key left; null where there was none.
 *
 * @throws {AppError} `idempotency_mismatch`: it asked for something else.
 */
function notedIds(stored: Stored | null, { fingerprint }: Once): readonly string[] | null {
  if (stored === null) return null;
  const note = JSON.parse(stored.value) as { readonly fingerprint: string; readonly ids: readonly string[] };
  if (note.fingerprint === fingerprint) return note.ids;
  throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another request had it");
}

/** Returns the write that notes a request; `makesHome` if one of the ids is that of a new home. */
function onceWrite(
  { key, fingerprint }: Once,
  {
    ids,
    makesHome,
    nowMs,
  }: { readonly ids: readonly string[]; readonly makesHome: boolean; readonly nowMs: number },
): Write {
  const note = { type: "put", key, value: JSON.stringify({ fingerprint, ids }) } as const;
  return makesHome ? note : { ...note, expireAt: nowMs + notedMs };
}

export interface ResourceRoutesContext {
  readonly services: ControlServices;
  readonly kinds: Kinds;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly author: Guard<Author>;
  readonly random: RandomBytes;
}

/** Makes the change that a request asks for, if it matches `If-Match`. */
export async function write(
  call: AuthorCall,
  operation: WriteOperation,
  { services, writer }: ResourceRoutesContext,
  isAnswered = true,
) {
  const query = call.query as Query;
  const shown = {
    base: services.base,
    fields: viewOf(operation.kind.resource, query).fields,
    // Spares reading heavy attributes for an answer that shows nothing.
    isListed: !isAnswered,
  };
  const [data = null] = await writer.write({
    author: call.principal,
    operations: [{ ...operation, ifMatch: call.request.headers.get("if-match") ?? undefined }],
    requestId: call.requestId,
    isDry: isDryRun(call),
    shown,
    once: onceOf(call),
  });
  return { data: data ?? { type: operation.kind.resource.type, id: operation.id, attributes: {} } };
}

/**
 * Makes the id of a new record: of its own for what is a home, else one that leads to its home. Returns the home as well, or null for
 * one that is not known yet.
 *
 * @param homes Homes of records that the same request creates, by their ids.
 */
export async function newId(
  kind: Kind,
  object: ResourceObject,
  parent: WriteOperation["parent"],
  { services, kinds, random }: Pick<ResourceRoutesContext, "services" | "kinds" | "random">,
  homes: ReadonlyMap<string, Home> = new Map(),
): Promise<{ readonly id: string; readonly home: Home | null }> {
  const own = uuid(random);
  const itself = ownHome(kind, own);
  if (itself !== null) return { id: own, home: itself };
  const under = ownerOf(kind, refsOf(object), parent);
  const above = under === null ? undefined : kinds[under.type];
  if (under === null || above === undefined) return { id: own, home: null };
  const found = homes.get(under.id) ?? (await homeOf(services, above, under.id));
  if (found === null) return { id: own, home: null };
  const home = await homeFor(services, kind, found);
  const isNew = homes.get(home.id)?.id === home.id;
  return { id: await services.places.newId(home, { isNew }), home };
}
