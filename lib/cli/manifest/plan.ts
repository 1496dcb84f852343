/**
 * Compares what a manifest wants with what the server has. Lists of fields and annotations are compared entry by entry, so that a
 * manifest owns what it names and leaves the rest alone.
 */

import { answerField, replaceIds } from "../../authoring/table/mod.ts";
import { type Fault, mapTexts, tokenOf } from "../../authoring/table/references.ts";
import { eventInstants, eventState } from "../../fans/directory/event_times.ts";
import { documentDigest } from "../../fans/directory/loyalty_versions.ts";
import { canonicalJson } from "../../http/requests/body.ts";
import { type ResourceObject, relation } from "../frame/resources.ts";
import { attributesTable, type Manifest, type Wanted } from "./read.ts";
import { annotationOf, appliedAnnotation, keyAnnotation, type Remote } from "./remote.ts";

export interface Step {
  readonly wanted: Wanted;
  readonly remote: ResourceObject | null;
  readonly action: "add" | "update" | "noop";
  /** What changes: attributes, with the entry behind a dot. */
  readonly fields: readonly string[];
  readonly notes: readonly string[];
  /** Fields that somebody changed since the manifest was last applied. */
  readonly conflicts: readonly string[];
  readonly frozen: readonly string[];
  /** What is written; a token stands for the id of another entity. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Element: the token of its wrapper; undefined: it is left alone. */
  readonly wrapper: string | null | undefined;
  readonly publishes: boolean;
}

export interface Plan {
  readonly manifest: Manifest;
  readonly space: string;
  readonly remote: Remote;
  readonly steps: readonly Step[];
}

/** Makes the plan. `now` is Unix seconds. @throws {CliError} The manifest asks for what cannot be. */
export function planOf(manifest: Manifest, space: string, remote: Remote, now: number): Plan {
  const planner = new Planner(manifest, remote, now);
  const steps = manifest.wanted.map(wanted => planner.step(wanted));
  if (planner.faults.length > 0) throw manifest.refusal(planner.faults);
  return { manifest, space, remote, steps };
}

class Planner {
  readonly faults: Fault[] = [];
  readonly #manifest: Manifest;
  readonly #remote: Remote;
  readonly #now: number;
  readonly #tokens: ReadonlyMap<string, string>;
  readonly #formerTokens: ReadonlyMap<string, string>;
  readonly #wrappers: ReadonlyMap<string, Wanted>;

  constructor(manifest: Manifest, remote: Remote, now: number) {
    this.#manifest = manifest;
    this.#remote = remote;
    this.#now = now;
    const found = [...remote.found];
    this.#tokens = new Map(found.map(([path, { id }]) => [id, tokenOf(path)]));
    const formerPathOf = (one: ResourceObject): string | undefined =>
      annotationOf(one, keyAnnotation)?.replace(/^[^/]*\//, "");
    this.#formerTokens = new Map(found.map(([path, one]) => [one.id, tokenOf(formerPathOf(one) ?? path)]));
    this.#wrappers = new Map(
      manifest.wanted.flatMap(wrapper => (wrapper.children ?? []).map(path => [path, wrapper] as const)),
    );
  }

  step(wanted: Wanted): Step {
    const { kind, path } = wanted;
    const remote = this.#remote.found.get(path) ?? null;
    const wrapper = kind === "element" ? this.#wrapperOf(wanted, remote) : undefined;
    const owned = this.#owned(wanted, remote, wrapper);
    const there = remote === null ? new Map<string, unknown>() : this.#unitsOf(kind, remote);
    const changed = [...owned].filter(([name, value]) => textOf(value) !== textOf(there.get(name)));
    const fields = changed.map(([name]) => name);
    const mark = `${this.#manifest.id}/${path}`;
    const before = remote === null ? null : annotationOf(remote, keyAnnotation);
    const formerMarks = wanted.formerPaths.map(each => `${this.#manifest.id}/${each}`);
    if (before !== null && formerMarks.includes(before)) fields.push("key");
    const publication = kind === "element" ? this.#publication(wanted, remote) : null;
    if (publication === true) fields.push("publish");
    const action = remote === null ? "add" : fields.length > 0 ? "update" : "noop";
    const conflicts = remote === null || changed.length === 0 ? [] : this.#conflicts(kind, remote, changed);
    const frozen = remote === null ? [] : fields.filter(name => isFrozen(kind, name, remote));
    const same = this.#remote.namesakes.get(path);
    const notes = [
      ...(conflicts.length > 0 ? [`changed elsewhere: ${conflicts.join(", ")}`] : []),
      ...(frozen.length > 0 ? [`can no longer change: ${frozen.join(", ")}`] : []),
      ...(typeof publication === "string" ? [publication] : []),
      ...(action === "update" && before !== null && before !== mark && !fields.includes("key")
        ? [`was ${before}`]
        : []),
      ...(same === undefined ? [] : [`${same.id} has the same name: give it as id to adopt it`]),
    ];
    // Types are hidden when the project has its app.
    if (remote === null || fields.includes("app")) owned.delete("enabled_types");
    const attributes = remote === null ? this.#newAttributes(wanted) : patchOf(wanted, fields, remote);
    const annotations =
      kind === "app" || action === "noop"
        ? {}
        : { annotations: { [keyAnnotation]: mark, [appliedAnnotation]: this.#digests(owned) } };
    return {
      wanted,
      remote,
      action,
      notes,
      conflicts,
      frozen,
      wrapper,
      fields: remote === null ? [] : fields,
      attributes: joined(attributes, annotations),
      publishes: publication === true,
    };
  }

  #conflicts(kind: Wanted["kind"], remote: ResourceObject, changed: readonly (readonly [string, unknown])[]) {
    const applied = annotationOf(remote, appliedAnnotation) ?? "";
    const there = this.#unitsOf(kind, remote, this.#formerTokens);
    const app = relation(remote, "app") ?? "";
    there.set("app", this.#remote.addresses.get(app) ?? app);
    const isElsewhere = (name: string): boolean => isChangedElsewhere(applied, name, there.get(name));
    // With another app a project uses all its types, until the run that moved it hides some.
    const isMoved = isElsewhere("app");
    return changed
      .map(([name]) => name)
      .filter(name => isElsewhere(name) && !(isMoved && name === "enabled_types"));
  }

  /** Remembers what is applied; an app by its address, as its key may stand for another one later. */
  #digests(owned: ReadonlyMap<string, unknown>): string {
    const app = owned.get("app");
    if (typeof app !== "string") return digestsOf(owned);
    const wanted = this.#manifest.wanted.find(({ kind, path }) => kind === "app" && tokenOf(path) === app);
    const address = wanted?.attributes.spec_url ?? this.#remote.addresses.get(app) ?? app;
    return digestsOf(new Map([...owned, ["app", address]]));
  }

  #newAttributes(wanted: Wanted): Readonly<Record<string, unknown>> {
    const { kind, pointer, attributes } = wanted;
    const table = attributesTable(kind);
    const needed = Object.entries(table).filter(([, { required }]) => required === true);
    for (const [name] of needed)
      if (attributes[name] === undefined)
        this.faults.push({ pointer, detail: `A new ${kind} needs ${name}` });
    if (kind === "project" && wanted.app === null)
      this.faults.push({ pointer, detail: "A new project needs an app" });
    return patchOf(wanted, Object.keys(attributes), null);
  }

  /** The wrapper that an element is to be in; undefined: the manifest does not say. */
  #wrapperOf({ path }: Wanted, remote: ResourceObject | null): string | null | undefined {
    const wrapper = this.#wrappers.get(path);
    if (wrapper !== undefined) return tokenOf(wrapper.path);
    const id = remote === null ? null : relation(remote, "parent");
    const former = this.#manifest.wanted.find(one => this.#remote.found.get(one.path)?.id === id);
    return id !== null && former?.children != null ? null : undefined;
  }

  #owned(wanted: Wanted, remote: ResourceObject | null, wrapper: Step["wrapper"]): Map<string, unknown> {
    const { kind, attributes, app, enabledTypes } = wanted;
    const units = unitsOf(kind, this.#tokenised(attributes));
    // What an event shows of its times follows from its state.
    const was = remote?.attributes ?? {};
    if (kind === "event" && (attributes.start_mode ?? was.start_mode) !== "clock") units.delete("start_at");
    if (was.state === "on_demand" || was.state === "past") units.delete("end_at");
    if (kind === "project" && attributes.settings !== undefined)
      units.set("settings", documentDigest(attributes.settings));
    if (app !== null) units.set("app", this.#tokenised(app));
    if (enabledTypes !== null) units.set("enabled_types", this.#enabled(wanted, enabledTypes, remote));
    if (wrapper !== undefined) units.set("parent", wrapper);
    return units;
  }

  #enabled({ pointer, app }: Wanted, enabledTypes: readonly string[], remote: ResourceObject | null) {
    const isMoved =
      remote === null || (app !== null && this.#tokenised(app) !== this.#tokenised(relation(remote, "app")));
    const strange = isMoved ? [] : enabledTypes.filter(type => !typesOf(remote).includes(type));
    if (strange.length > 0)
      this.faults.push({
        pointer: `${pointer}/enabled_types`,
        detail: `The app has no ${strange.join(", ")}`,
      });
    return [...new Set(enabledTypes)].sort();
  }

  #unitsOf(kind: Wanted["kind"], remote: ResourceObject, tokens = this.#tokens): Map<string, unknown> {
    const units = unitsOf(kind, this.#tokenised(remote.attributes, tokens));
    if (kind === "element") units.set("parent", this.#tokenised(relation(remote, "parent"), tokens));
    if (kind !== "project") return units;
    units.set("settings", remote.meta?.settings_digest);
    units.set("app", this.#tokenised(relation(remote, "app"), tokens));
    units.set("enabled_types", [...(remote.attributes.enabled_types as readonly string[])].sort());
    return units;
  }

  #tokenised<T>(value: T, tokens = this.#tokens): T {
    return mapTexts(value, text => replaceIds(text, id => tokens.get(id))) as T;
  }

  /** True: the element is published now; a text says why it is not; null: there is nothing to do. */
  #publication(wanted: Wanted, remote: ResourceObject | null): true | string | null {
    if (!wanted.isPublished || isPublished(remote) || remote?.attributes.state === "revoked") return null;
    const children = this.#manifest.wanted.filter(({ path }) => this.#wrappers.get(path) === wanted);
    const managed = children.map(({ path }) => this.#remote.found.get(path)?.id);
    const others = (this.#remote.elements.get(relation(remote ?? nothing, "event") ?? "") ?? []).filter(
      one => remote !== null && relation(one, "parent") === remote.id && !managed.includes(one.id),
    );
    if (offsetOf(wanted, remote) !== null) {
      const drafts = children.filter(one => !this.#isTimed(one) && !this.#willBePublished(one));
      const names = drafts.map(({ path }) => path).join(", ");
      return `is published by the clock${names === "" ? "" : `, and shown without what are drafts: ${names}`}`;
    }
    const { state } = this.#phaseOf(wanted.parent);
    if (state === "future") return "waits for the event to start";
    if (state === "past") return "is not published as its event is over";
    const isHeld = others.some(one => !isPublished(one)) || children.some(one => !this.#willBePublished(one));
    return isHeld ? "waits for its children to be published" : true;
  }

  #isTimed(wanted: Wanted): boolean {
    return offsetOf(wanted, this.#remote.found.get(wanted.path) ?? null) !== null;
  }

  #willBePublished(wanted: Wanted): boolean {
    const remote = this.#remote.found.get(wanted.path) ?? null;
    const offset = offsetOf(wanted, remote);
    const { begin } = this.#phaseOf(wanted.parent);
    const isDue = offset !== null && begin !== null && begin + offset <= this.#now;
    return isPublished(remote) || isDue || this.#publication(wanted, remote) === true;
  }

  #phaseOf(event: Wanted | null): { readonly state: string; readonly begin: number | null } {
    const remote = event === null ? undefined : this.#remote.found.get(event.path);
    const { state = "future", start_at: begin } = remote?.attributes ?? {};
    if (state !== "future") return { state: String(state), begin: Number(begin) };
    const { start_mode, start_at, duration, end_mode, end_at, extra_time_duration, on_demand_duration } = {
      start_mode: "manual",
      duration: 3_600,
      end_mode: "duration",
      ...remote?.attributes,
      ...event?.attributes,
    } as unknown as Readonly<Record<string, never>>;
    const instants = eventInstants({
      startMode: start_mode ?? "manual",
      startAt: start_at ?? null,
      startedAt: null,
      stoppedAt: null,
      closedAt: null,
      duration: duration ?? 0,
      endMode: end_mode ?? "duration",
      endAt: end_at ?? null,
      extraTime: extra_time_duration ?? 0,
      onDemand: on_demand_duration ?? 0,
    });
    return { state: eventState(instants, this.#now), begin: instants.begin };
  }
}

/** Returns the seconds after which the clock publishes an element, or null. */
function offsetOf({ attributes }: Wanted, remote: ResourceObject | null): number | null {
  const { start_mode: mode, start_offset: offset = 0 } = { ...remote?.attributes, ...attributes };
  return mode === "timecode" ? Number(offset) : null;
}

const nothing: ResourceObject = { type: "", id: "", attributes: {} };

function isPublished(element: ResourceObject | null): boolean {
  return typeof element?.attributes.published_at === "number";
}

function joined(attributes: Step["attributes"], { annotations }: { readonly annotations?: object }) {
  if (annotations === undefined) return attributes;
  return { ...attributes, annotations: { ...(attributes.annotations as object), ...annotations } };
}

/** Once an element is published, what fans see of it is frozen; the right option is not. */
function isFrozen(kind: Wanted["kind"], field: string, remote: ResourceObject): boolean {
  const table = attributesTable(kind);
  const { write = "always" } = table[field.replace(/\..*$/s, "")] ?? {};
  if (field === `custom_fields.${answerField}`) return false;
  return write === "create" || (write === "draft" && isPublished(remote));
}

/** Most entries whose digests are kept in an annotation. */
const appliedMax = 600;

/** The two names of the right option. They are sent together, so that the server compares them. */
const answerUnits = ["correct_option", `custom_fields.${answerField}`];

/** Splits attributes into the entries that a change may name. */
function unitsOf(kind: Wanted["kind"], attributes: Wanted["attributes"]): Map<string, unknown> {
  const table = attributesTable(kind);
  const entries = Object.entries(attributes).flatMap(([name, value]): (readonly [string, unknown])[] => {
    const { join, default: otherwise = null } = table[name] ?? {};
    if (join === "byKey")
      return ((value ?? []) as readonly { key: string; values: unknown }[]).map(({ key, values }) => [
        `${name}.${key}`,
        values,
      ]);
    if (join === "merge") return Object.entries(value ?? {}).map(([key, each]) => [`${name}.${key}`, each]);
    return [[name, value ?? otherwise]];
  });
  return new Map(entries);
}

function patchOf(
  { kind, attributes, enabledTypes }: Wanted,
  fields: readonly string[],
  remote: ResourceObject | null,
): Readonly<Record<string, unknown>> {
  const table = attributesTable(kind);
  const changed = fields.some(field => answerUnits.includes(field)) ? [...fields, ...answerUnits] : fields;
  const isChanged = (name: string): boolean => changed.includes(name);
  const entries = Object.entries(attributes).flatMap(([name, value]): (readonly [string, unknown])[] => {
    const { join, nullable = false, default: otherwise = null } = table[name] ?? {};
    if (remote === null) return value === null ? [] : [[name, value]];
    if (join === "byKey") {
      const list = (value as readonly { key: string }[]).filter(({ key }) => isChanged(`${name}.${key}`));
      return list.length === 0 ? [] : [[name, list]];
    }
    if (join === "merge") {
      const members = Object.entries(value as object).filter(([key]) => isChanged(`${name}.${key}`));
      return members.length === 0 ? [] : [[name, Object.fromEntries(members)]];
    }
    return isChanged(name) ? [[name, value ?? (nullable ? null : otherwise)]] : [];
  });
  const hidden =
    remote !== null && enabledTypes !== null && isChanged("enabled_types") && !isChanged("app")
      ? { hidden_elements: typesOf(remote).filter(type => !enabledTypes.includes(type)) }
      : {};
  return { ...Object.fromEntries(entries), ...hidden };
}

/** Returns the content types of a project's app, used or not. */
function typesOf({ attributes }: ResourceObject): readonly string[] {
  return [attributes.enabled_types, attributes.hidden_elements].flat() as readonly string[];
}

/** Equal values have equal texts; an empty list is like none. */
function textOf(value: unknown): string {
  return value === undefined || (Array.isArray(value) && value.length === 0) ? "null" : canonicalJson(value);
}

function short(text: string): string {
  return documentDigest(text).slice(7, 13);
}

/** Digests of names and values, with which edits of others are found. */
function digestsOf(units: ReadonlyMap<string, unknown>): string {
  const all = [...units].slice(0, appliedMax);
  return all.map(([name, value]) => short(name) + short(textOf(value))).join("");
}

function isChangedElsewhere(applied: string, name: string, value: unknown): boolean {
  const known = applied.match(/.{12}/g)?.find(each => each.startsWith(short(name)));
  return known !== undefined && known.slice(6) !== short(textOf(value));
}
