/**
 * Reading the items of bulk requests.
 *
 * Reported actions are checked by hand and not by a schema: a schema takes five times as long, which is 15 % of accepting an
 * action. Rewards and profile updates share the collector of errors and check their members by schemas.
 */

import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { isUserId, userIdExpectation } from "../../../http/requests/validate.ts";
import { requireUnarchived } from "../../directory/directory.ts";
import type { Directory, Space } from "../../directory/mod.ts";
import { accountFault, accountUserId } from "../../identity/own_accounts.ts";

const bulkItemsMax = 1_000;
const bulkErrorsMax = 1_000;
/** Longest id of an action, reward or update, in characters. */
export const itemIdCharactersMax = 128;

type Path = readonly (string | number)[];

export class BodyErrors {
  readonly #fields: FieldError[] = [];

  get fields(): readonly FieldError[] {
    return this.#fields;
  }

  add(detail: string, ...path: Path): void {
    if (this.#fields.length < bulkErrorsMax) this.#fields.push({ pointer: jsonPointer(...path), detail });
  }

  /** Adds errors whose pointers are relative to a path. */
  addAll(errors: readonly FieldError[], path: Path): void {
    const base = jsonPointer(...path);
    const room = bulkErrorsMax - this.#fields.length;
    for (const error of errors.slice(0, room)) {
      this.#fields.push({ ...error, pointer: base + error.pointer });
    }
  }

  /** @throws {AppError} `validation_failed` if there is any error. */
  throwIfAny(): void {
    if (this.#fields.length === 0) return;
    throw new AppError("validation_failed", "Cannot accept the request: nothing of it was applied", {
      fields: this.#fields,
    });
  }
}

/** An item of a bulk request and its location in the body. */
export interface BulkItem {
  readonly item: Members;
  readonly path: Path;
  /** The object with the item's own members: the item, or its `data` in the batch convention. */
  readonly content: Members;
  readonly contentPath: Path;
  readonly userKey: "userId" | "user_id";
}

/**
 * Reads the items of a bulk body: a list, an object with the list as the member `name`, or one item. Each is an object of its
 * own, or `{user_id, data}`.
 *
 * @throws {AppError} `validation_failed` if there is no list of 1 to 1,000 items.
 */
export function readBulkItems(
  body: unknown,
  name: string,
  errors: BodyErrors,
  accountIssuer: string | undefined,
): readonly BulkItem[] {
  if (isMembers(body) && !Object.hasOwn(body, name)) {
    const one = bulkItem(withUserId(body, [], accountIssuer, errors), [], errors);
    return one === null ? [] : [one];
  }
  const list = isMembers(body) ? body[name] : body;
  const base = isMembers(body) || !Array.isArray(body) ? [name] : [];
  if (!Array.isArray(list)) {
    errors.add(`Expected a list of items, or an object with one as ${name}`, ...base);
  } else if (list.length === 0 || list.length > bulkItemsMax) {
    errors.add(`Expected 1 to ${bulkItemsMax} items`, ...base);
  }
  errors.throwIfAny();
  if (isMembers(body)) refuseUnknown(body, new Set([name]), [], errors);
  const items: BulkItem[] = [];
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    const path = [...base, index];
    const read = isMembers(item)
      ? bulkItem(withUserId(item, path, accountIssuer, errors), path, errors)
      : null;
    if (read !== null) items.push(read);
    if (!isMembers(item)) errors.add("Expected an object", ...path);
  }
  return items;
}

/** Puts the user's id in place of the external id of an item. */
export function withUserId(
  item: Members,
  path: Path,
  accountIssuer: string | undefined,
  errors: BodyErrors,
): Members {
  if (item.externalId === undefined && item.external_id === undefined) return item;
  const [name, userKey] =
    item.external_id === undefined
      ? (["externalId", "userId"] as const)
      : (["external_id", "user_id"] as const);
  const { [name]: externalId, ...others } = item;
  const isNamedTwice = item.userId !== undefined || item.user_id !== undefined;
  const fault = isNamedTwice
    ? `Expected either ${userKey} or ${name}`
    : accountFault(accountIssuer, externalId);
  if (fault !== null) errors.add(fault, ...path, name);
  return {
    ...others,
    [userKey]: fault === null ? accountUserId(accountIssuer ?? "", String(externalId)) : "-",
  };
}

const convention: ReadonlySet<string> = new Set(["user_id", "data"]);

function refuseUnknown(object: Members, known: ReadonlySet<string>, path: Path, errors: BodyErrors): void {
  for (const name in object) {
    if (!known.has(name)) errors.add("Is not a known member", ...path, name);
  }
}

/** Refuses members of an item beyond the known ones and the id of its user. */
export function refuseUnknownMembers(
  { content, contentPath, userKey }: BulkItem,
  known: ReadonlySet<string>,
  errors: BodyErrors,
): void {
  for (const name in content) {
    if (known.has(name) || (name === "userId" && userKey === "userId")) continue;
    errors.add("Is not a known member", ...contentPath, name);
  }
}

function bulkItem(item: Members, path: Path, errors: BodyErrors): BulkItem | null {
  if (!Object.hasOwn(item, "user_id")) {
    return { item, path, content: item, contentPath: path, userKey: "userId" };
  }
  refuseUnknown(item, convention, path, errors);
  const { data } = item;
  const contentPath = [...path, "data"];
  if (isMembers(data)) return { item, path, content: data, contentPath, userKey: "user_id" };
  errors.add("Expected an object", ...contentPath);
  return null;
}

export function readUserId({ item, path, userKey }: BulkItem, errors: BodyErrors): string {
  const id = item[userKey];
  if (isUserId(id)) return id;
  errors.add(id === undefined ? "Is required" : userIdExpectation, ...path, userKey);
  return "";
}

/** Reads an optional id of the item; null if it is absent. */
export function readOptionalId(
  { content, contentPath }: BulkItem,
  name: string,
  errors: BodyErrors,
): string | null {
  const id = content[name];
  if (id === undefined || isValidId(id)) return id ?? null;
  errors.add(idExpectation, ...contentPath, name);
  return null;
}

const idExpectation = `Expected 1 to ${itemIdCharactersMax} characters`;

/** Tells whether a value may be the id of an action, reward or update. */
function isValidId(value: unknown): value is string {
  return (
    typeof value === "string" && value !== "" && value.length <= itemIdCharactersMax && value.isWellFormed()
  );
}

/** Collects the projects that the items of a body name, so that each is looked up once. */
export class NamedProjects {
  readonly #items = new Map<string, BulkItem[]>();

  /** Reads the project of an item; undefined where it names none. */
  read(item: BulkItem): string | undefined {
    const { projectId } = item.content;
    if (projectId === undefined) return undefined;
    const id = typeof projectId === "string" ? projectId.toLowerCase() : "";
    const items = this.#items.get(id);
    if (items === undefined) this.#items.set(id, [item]);
    else items.push(item);
    return id;
  }

  /**
   * Checks that all of them are projects of the space.
   *
   * @throws {AppError} `validation_failed` with an error for every item that names another; `project_archived` for one of them.
   */
  async check(directory: Pick<Directory, "project">, { id: spaceId }: Pick<Space, "id">): Promise<void> {
    const errors = new BodyErrors();
    for (const [id, items] of this.#items) {
      const project = isUuid(id) ? await directory.project(id) : null;
      if (project?.spaceId === spaceId) {
        requireUnarchived(project);
        continue;
      }
      for (const { contentPath } of items) {
        errors.add("Expected the id of a project of the space", ...contentPath, "projectId");
      }
    }
    errors.throwIfAny();
  }
}
