/**
 * The behaviour of a resource beyond its definition: where its records are, what follows from them, and what a change has to
 * check and to do. All of it is pure and runs in a transaction, but for what other partitions have to do with a creation.
 */

import { AppError, type FieldError } from "../../base/errors/mod.ts";
import { type EventTimes, eventInstants } from "../../fans/directory/event_times.ts";
import type { Event, Home, Organisation, Project, Space } from "../../fans/directory/mod.ts";
import { directoryPartition, eventTimesOf, type StoredEvent } from "../../fans/directory/records.ts";
import { memoize } from "../../storage/background/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import type { AppSpec, ContentsEntry, Resource, ResourceType } from "../table/mod.ts";
import type { Author } from "./access/authors.ts";
import type { ListView } from "./jsonapi/types.ts";
import type { Transaction } from "./transaction.ts";

export interface Circumstances {
  /** Unix seconds. */
  readonly now: number;
  readonly author: Author;
  /** True where heavy attributes are left out. @default false */
  readonly isListed?: boolean;
}

export interface Identifier {
  readonly type: ResourceType;
  readonly id: string;
}

/** What an answer shows of an entity beyond what was written. */
export interface Presented {
  readonly attributes: Attributes;
  /** Related records, where they are not those of `refs`. */
  readonly related?: Readonly<Record<string, Identifier | readonly Identifier[] | null>>;
  readonly tag?: string;
  readonly meta?: Attributes;
  /** Attributes that are computed where they are shown. */
  readonly lazy?: Readonly<Record<string, () => unknown>>;
}

/** Copied elements, which the commit of their new owner makes visible. */
export interface CopiedElements {
  /** Ids of the copies by those of what was copied, the owner's too. */
  readonly ids: ReadonlyMap<string, string>;
  readonly entries: readonly ContentsEntry[];
  /** Those that the commit has to write. Empty if they were written before, as there are many. */
  readonly elements: readonly Entity[];
  readonly isStaged: boolean;
  /** Assets that they mention. */
  readonly assets: readonly string[];
}

/** A member that cannot be written as it is, unless it is what the answer shows anyway. */
export interface Doubt {
  readonly member: "attributes" | "relationships";
  readonly name: string;
  readonly value: unknown;
  readonly faults: readonly FieldError[];
  /** True if the role alone forbids it. */
  readonly isRefused: boolean;
}

/** What a request writes, checked against the definition. */
export interface Input {
  readonly attributes: Attributes;
  /** Ids by relationship; null removes. */
  readonly refs: Readonly<Record<string, string | null>>;
  /** Related records to add and to remove, by relationship to many. */
  readonly links?: Readonly<
    Record<string, { readonly add?: readonly string[]; readonly remove?: readonly string[] }>
  >;
  /** Elements that the new record gets. */
  readonly copied?: CopiedElements;
  /** What the app specifies that is added, or that a project is to use. */
  readonly app?: AppSpec;
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  /** Texts of fans: those with a text are to be shown, others hidden. */
  readonly answers?: readonly { readonly id: string; readonly text?: string }[];
  /** Members that are accepted only where they are as the record shows them. */
  readonly doubts?: readonly Doubt[];
  /** The value of the attribute `action`. */
  readonly action: string | null;
  /** Pointer of the resource object in the body. */
  readonly pointer: string;
  /** The parent that the path of a creation names. */
  readonly parent?: Identifier | undefined;
}

/** A change of an entity, on its way into the transaction. */
export interface Change extends Circumstances {
  /** Null: it is being created. */
  readonly previous: Entity | null;
  readonly input: Input;
  readonly home: Home;
}

/** Reads and writes the entities of a kind in transactions. */
export interface Records {
  /** The keys of the partition that have an entity. */
  keys(id: string): readonly string[];
  get(tx: Transaction, id: string): Entity | null;
  /** Null removes it. */
  set(tx: Transaction, id: string, entity: Entity | null): void;
}

export function ownRecords(keyOf: (id: string) => string, codec: Codec = plainCodec): Records {
  const decode = memoize(codec.decode);
  return {
    keys: id => [keyOf(id)],
    get(tx, id) {
      const stored = tx.get<object>(keyOf(id));
      return stored === null ? null : decode(stored);
    },
    set: (tx, id, entity) => tx.put(keyOf(id), entity === null ? null : codec.encode(entity)),
  };
}

/** The kind of a resource whose entities in a home share one record, in the order of their creation. */
export function sharedKind(resource: Resource) {
  const { type: key, entriesMax = 0 } = resource;
  const list = (tx: Transaction): readonly Entity[] => tx.get<readonly Entity[]>(key) ?? [];
  const records = {
    list,
    keys: () => [key],
    get: (tx, id) => list(tx).find(entity => entity.id === id) ?? null,
    set(tx, id, entity) {
      const all = list(tx);
      const isNew = !all.some(each => each.id === id);
      const changed = all.flatMap(each => (each.id === id ? (entity ?? []) : each));
      if (entity !== null && isNew && all.length >= entriesMax)
        throw new AppError("conflict", `Cannot add another one: there are ${entriesMax} already`);
      tx.put(key, entity !== null && isNew ? [...all, entity] : changed);
    },
  } satisfies Records & { list: unknown };
  return { resource, records, list: (tx: Transaction) => list(tx).map(({ id }) => id) };
}

/** Some of the records under a parent, in the order that was asked for. */
export interface Narrowed {
  readonly ids: readonly string[];
  /** Filters that have not been applied. */
  readonly filters: ListView["filters"];
}

export interface Kind {
  readonly resource: Resource;
  readonly records: Records;
  /** Returns the place whose role counts for a record, where that is not its home. */
  readonly accessIn?: (id: string, home: Home) => Promise<Home>;
  /** Returns the event that an entity is or belongs to. @default it belongs to none */
  readonly eventOf?: (entity: Entity) => string;
  /** What a caller sees who has a role in something below alone. @default nothing */
  readonly outline?: {
    readonly fields: ReadonlySet<string>;
    /** Tests if what the caller reaches needs the record. @default it is one of the homes above */
    readonly isNeeded?: (entity: Entity, reached: ReadonlyMap<string, unknown>) => boolean;
  };
  /** Names the records that presenting an entity surely needs, and changing it where the relationships of the change are given. */
  readonly wants?: (id: string, written?: Input["refs"]) => readonly string[];
  /** Depends on the entity, the records that it gets and the time, which is whole seconds. */
  readonly present?: (
    entity: Entity,
    tx: Transaction,
    circumstances: Omit<Circumstances, "author">,
  ) => Presented;
  /** Returns the ids of the records under a parent, in their own order. For lists that one record holds. */
  readonly list?: (tx: Transaction, parentId: string) => readonly string[];
  /** Returns the ids of the records that a caller may see, where a list has no parent. */
  readonly listFor?: (author: Author) => Promise<readonly string[]>;
  /** Returns the board of the parent's partition that orders the records, and their highest score. For lists without a bound. */
  readonly board?: (
    view: ListView,
    now: number,
  ) => {
    readonly key: string;
    readonly max?: number | undefined;
    /** True if the board has the records of the filter and no other, so that pages have numbers. @default false */
    readonly isExact?: boolean;
  };
  /** Finds the records of a list without its board; null where it cannot. */
  readonly narrow?: (parent: Identifier, view: ListView, now: number) => Promise<Narrowed | null>;
  /** Reads entities that are no records. */
  readonly load?: (home: Home, ids: readonly string[]) => Promise<readonly Entity[]>;
  /** Checks a new or changed entity and completes it. */
  readonly prepare?: (entity: Entity, tx: Transaction, change: Change) => Entity;
  /** Writes what follows from a new or changed entity, beside its record. */
  readonly changed?: (entity: Entity, tx: Transaction, change: Change) => void;
  readonly removed?: (entity: Entity, tx: Transaction, circumstances: Circumstances) => void;
  /** Does what has to be done elsewhere before a creation or change: claims, entries in lists, fetched contents. */
  readonly before?: (entity: BeforeChange) => Promise<Started | undefined>;
  /** Checks in a dry run what has to be checked elsewhere before a removal. */
  readonly checkRemoval?: (id: string, home: Home) => Promise<void>;
  /** Does what has to be done elsewhere before a removal. */
  readonly beforeRemoval?: (id: string, home: Home) => Promise<void>;
}

/** What was done before a creation or change: further input, and what has to be done after its success or failure. */
export interface Started extends Partial<Input> {
  /** Gives up what the record does not use. Where the process dies before, nobody is hindered by what is left. */
  readonly after?: () => Promise<void>;
}

/** A creation or change that has not begun. */
export interface BeforeChange {
  readonly id: string;
  readonly isNew: boolean;
  readonly input: Input;
  readonly isDry: boolean;
  readonly author: Author;
  /** The organisation of the place where it is written. */
  readonly organisationId: string;
}

/** Returns the home that a record is itself, or that of the platform; null: the id leads to its home. */
export function ownHome({ resource: { type, home, noun } }: Kind, id: string): Home | null {
  if (home === "platform") return platformHome;
  return home === noun ? homeNamed({ type, id }) : null;
}

/** Returns the home that an identifier of an organisation, space or project names. */
export function homeNamed({ type, id }: Identifier): Home {
  const kind = homeKinds[type];
  if (kind === undefined) throw new TypeError(`Cannot find roles in ${type}`);
  return { kind, id };
}

/** In text, as every platform has roles, and the table of resources would come with them. */
const homeKinds: Readonly<Partial<Record<ResourceType, Home["kind"]>>> = {
  organisations: "organisation",
  spaces: "space",
  projects: "project",
};

/** Returns the record under which another one is created: the parent in the path, or else in the body; null: it has none. */
export function ownerOf(
  { resource: { under: types, relationships } }: Kind,
  refs: Input["refs"],
  parent: Identifier | undefined,
): Identifier | null {
  const [type = null] = types;
  if (parent !== undefined || type === null) return parent ?? null;
  const [name = ""] = Object.entries(relationships).find(([, { type: to }]) => to === type) ?? [];
  return { type, id: refs[name] ?? "" };
}

export function unprocessable(...fields: readonly FieldError[]): AppError {
  return new AppError("unprocessable", "Cannot accept the resource as it is not valid", { fields });
}

export function badAttribute({ pointer }: Pick<Input, "pointer">, name: string, detail: string): AppError {
  return unprocessable({ pointer: `${pointer}/attributes/${name}`, detail });
}

export function badAction(input: Input, possible: readonly string[]): AppError {
  const detail = `Expected an action that is possible now: ${possible.length === 0 ? "there is none" : possible.join(", ")}`;
  return badAttribute(input, "action", detail);
}

/** Creates the error for a record that does not exist, or that the caller may not see. */
export function notFound(noun: string): AppError {
  return new AppError("not_found", `Cannot find the ${noun}: there is none with this id that you may see`);
}

export function unknownRelated({ pointer }: Pick<Input, "pointer">, name: string): AppError {
  const field = {
    pointer: `${pointer}/relationships/${name}`,
    detail: "Expected the id of an existing record of the same owner",
  };
  return new AppError("not_found", `Cannot find the related record ${name}`, { fields: [field] });
}

export type { Home };

/** The home of what belongs to no organisation. */
export const platformHome: Home = { kind: "platform", id: "control" };

export function homePartition({ kind, id }: Home): string {
  return kind === "platform" ? platformPartition(id) : directoryPartition(kind, id);
}

export type Attributes = Readonly<Record<string, unknown>>;

export interface Entity {
  readonly id: string;
  /** Counts changes from 1. */
  readonly rev: number;
  /** Unix seconds. */
  readonly created: number;
  /** Unix seconds. */
  readonly updated: number;
  /** What was written; absent ones have their defaults. */
  readonly attributes: Attributes;
  readonly refs: Readonly<Record<string, string>>;
  readonly state?: Attributes;
}

/** Facts of an authored record beside what the fan side reads. */
type Authored = Omit<Entity, "id">;

/** A record of the directory, with what is authored of it. */
type Landed<T> = T & { readonly authored?: Authored; readonly settings?: unknown; readonly domain?: string };

const unauthored: Authored = { rev: 0, created: 0, updated: 0, attributes: {}, refs: {} };

export interface Codec {
  decode(stored: unknown): Entity;
  encode(entity: Entity): unknown;
}

export const plainCodec: Codec = { decode: stored => stored as Entity, encode: entity => entity };

/** The codec of records that the fan side reads as well: name and services have their own places there. */
function landedCodec<T extends { readonly id: string; readonly name: string }>(
  refsOf: (record: T) => Readonly<Record<string, string>>,
  landedOf: (entity: Entity) => object,
): Codec {
  return {
    decode(stored) {
      const record = stored as Landed<T>;
      const { authored = unauthored, id, name, settings = {}, domain } = record;
      return {
        ...authored,
        id,
        attributes: { ...authored.attributes, name, services: settings, domain },
        refs: { ...authored.refs, ...refsOf(record) },
      };
    },
    encode(entity) {
      const { id, ...authored } = entity;
      const { name, services = {}, domain, ...attributes } = entity.attributes;
      return {
        id,
        name,
        settings: services,
        domain: domain ?? undefined,
        ...landedOf(entity),
        authored: { ...authored, attributes },
      };
    },
  };
}

const plainOrganisationCodec = landedCodec<Organisation>(
  () => ({}),
  ({ state }) => ({ defaultSpaceId: state?.defaultSpaceId }),
);
export const organisationCodec: Codec = {
  decode(stored) {
    const { state, ...entity } = plainOrganisationCodec.decode(stored);
    return { ...entity, state: { ...state, defaultSpaceId: (stored as Organisation).defaultSpaceId } };
  },
  encode: plainOrganisationCodec.encode,
};
export const spaceCodec = landedCodec<Space>(
  ({ organisationId }) => ({ organisation: organisationId }),
  ({ refs }) => ({ organisationId: refs.organisation }),
);
/** The record of a project. Checking it makes a move to another app and a write of elements exclude each other. */
export const projectKey = "project";
export const projectCodec = landedCodec<Project>(
  ({ spaceId, organisationId }) => ({ space: spaceId, organisation: organisationId }),
  ({ refs, attributes }) => ({
    spaceId: refs.space,
    organisationId: refs.organisation,
    archived: attributes.archived === true ? true : undefined,
  }),
);

const authoredEventCodec = landedCodec<Event>(
  ({ projectId }) => ({ project: projectId }),
  entity => {
    const times = eventEntityTimes(entity);
    const startAt = eventInstants(times).begin ?? times.startAt ?? entity.created;
    return { projectId: entity.refs.project, startAt, times };
  },
);

/** Events. The fan side reads their times, which are a copy of what attributes and state say. */
export const eventCodec: Codec = {
  decode(stored) {
    const entity = authoredEventCodec.decode(stored);
    if (entity.rev > 0) return entity;
    const { startMode, startAt, startedAt, duration, endMode, endAt, fixedState } = eventTimesOf(
      stored as StoredEvent,
    );
    const attributes = {
      ...entity.attributes,
      start_mode: startMode,
      start_at: startAt,
      duration,
      end_mode: endMode,
      end_at: endAt,
    };
    const state = { startedAt, ...(fixedState === undefined ? {} : { fixedState }) };
    return { ...entity, created: (stored as StoredEvent).startAt, attributes, state };
  },
  encode: authoredEventCodec.encode,
};

export function eventEntityTimes({ attributes, state = {} }: Entity): EventTimes {
  const timeOf = (value: unknown): number | null => (value ?? null) as number | null;
  return {
    startMode: (attributes.start_mode ?? "manual") as EventTimes["startMode"],
    startAt: timeOf(attributes.start_at),
    startedAt: timeOf(state.startedAt),
    stoppedAt: timeOf(state.stoppedAt),
    closedAt: timeOf(state.closedAt),
    duration: timeOf(attributes.duration) ?? 3_600,
    endMode: (attributes.end_mode ?? "duration") as EventTimes["endMode"],
    endAt: timeOf(attributes.end_at),
    extraTime: timeOf(attributes.extra_time_duration) ?? 0,
    onDemand: timeOf(attributes.on_demand_duration) ?? 0,
    fixedState: (state.fixedState ?? undefined) as EventTimes["fixedState"],
  };
}
