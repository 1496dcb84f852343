/**
 * Names of partitions and keys, built so that no two lists of ids ever share one.
 *
 * Parts are joined by `:`. In an id `%`, `:`, `{` and `}` are percent-escaped: the colon so that `["a:b", "c"]` and
 * `["a", "b:c"]` stay apart, the braces so that an id cannot choose the Redis Cluster hash tag.
 */
import { AppError } from "../base/errors/mod.ts";
import { bytesPerUnitMax, utf8Length } from "../base/text/mod.ts";
import type { Partition } from "./contract.ts";
import { storageLimits } from "./contract.ts";
import type { PartitionLister } from "./ports.ts";

/** Owner of the data in a partition: exactly one organisation, space or project, by its id. */
export type Tenant =
  | { readonly organisation: string; readonly space?: never; readonly project?: never }
  | { readonly space: string; readonly organisation?: never; readonly project?: never }
  | { readonly project: string; readonly organisation?: never; readonly space?: never };

const tenantPrefixes = { organisation: "o:", space: "s:", project: "p:" } as const;

const kindPattern = /^[a-z][a-z0-9_]{0,31}$/;
const separators = /[%:{}]/;

/**
 * Names the partition of one thing of a tenant: `tenantPartition({ project: "p1" }, "user", "u1")`.
 *
 * @param kind Kind of data: lower-case letters, digits and underscores.
 * @param ids Ids within the kind; any well-formed strings.
 * @throws {AppError} `validation_failed`: an id is ill-formed, the tenant's is empty, or all together are longer than
 *   {@linkcode storageLimits.partitionBytesMax}.
 */
export function tenantPartition(tenant: Tenant, kind: string, ...ids: readonly string[]): Partition {
  return join(`${prefixOf(tenant)}:${checkKind(kind)}`, ids, storageLimits.partitionBytesMax);
}

/**
 * Names a partition that belongs to no tenant, such as a claim that is unique on the whole platform.
 *
 * @param kind Kind of data: lower-case letters, digits and underscores.
 * @param ids Ids within the kind; any well-formed strings.
 * @throws {AppError} `validation_failed`: an id is ill-formed, or all together are longer than
 *   {@linkcode storageLimits.partitionBytesMax}.
 */
export function platformPartition(kind: string, ...ids: readonly string[]): Partition {
  return join(`g:${checkKind(kind)}`, ids, storageLimits.partitionBytesMax);
}

/**
 * Names a key within a partition, such as `keyName("seen", requestId)`.
 *
 * @param kind Kind of data: lower-case letters, digits and underscores.
 * @param ids Ids within the kind; any well-formed strings.
 * @throws {AppError} `validation_failed`: an id is ill-formed, or all together are longer than
 *   {@linkcode storageLimits.nameBytesMax}.
 */
export function keyName(kind: string, ...ids: readonly string[]): string {
  return join(checkKind(kind), ids, storageLimits.nameBytesMax);
}

/** Returns the beginning of a partition's name: the kind of the tenant and its id. */
function prefixOf({ organisation, space, project }: Tenant): string {
  const given =
    (organisation === undefined ? 0 : 1) + (space === undefined ? 0 : 1) + (project === undefined ? 0 : 1);
  const id = organisation ?? space ?? project;
  if (given !== 1 || id === undefined) {
    throw new TypeError(
      "Cannot name a partition: exactly one of organisation, space and project must be given",
    );
  }
  if (id === "") throw invalid("a tenant's id must not be empty");
  const kind = organisation !== undefined ? "organisation" : space !== undefined ? "space" : "project";
  return tenantPrefixes[kind] + escapeId(id);
}

/** Parts of the name of a tenant's partition. */
export interface PartitionParts {
  readonly tenant: Tenant;
  readonly kind: string;
  readonly ids: readonly string[];
}

/**
 * Lists the partitions of all tenants of a kind that hold a record, in pages and in no order. A partition may come more than
 * once, and so may one whose record has just expired.
 */
export async function* tenantPartitions(
  store: PartitionLister,
  { tenant, record }: { readonly tenant: keyof typeof tenantPrefixes; readonly record: string },
): AsyncGenerator<readonly PartitionParts[], void> {
  for await (const page of store.partitions({ prefix: tenantPrefixes[tenant], record })) {
    yield page.map(partitionParts).filter(parts => parts !== null);
  }
}

/** Returns the parts of a name that {@linkcode tenantPartition} made, or null for any other name. */
export function partitionParts(partition: Partition): PartitionParts | null {
  const [scope = "", id = "", kind = "", ...ids] = partition.split(":").map(unescapeId);
  const tenant = tenantOf(`${scope}:`, id);
  return tenant === null || id === "" || !kindPattern.test(kind) ? null : { tenant, kind, ids };
}

function tenantOf(prefix: string, id: string): Tenant | null {
  const { organisation, space, project } = tenantPrefixes;
  if (prefix === organisation) return { organisation: id };
  if (prefix === space) return { space: id };
  return prefix === project ? { project: id } : null;
}

function checkKind(kind: string): string {
  if (kindPattern.test(kind)) return kind;
  throw new TypeError(`Cannot name a partition or key: the kind must match ${kindPattern}, is ${kind}`);
}

function escapeId(id: string): string {
  if (typeof id !== "string" || !id.isWellFormed()) throw invalid("an id must be well-formed text");
  // Most ids have nothing to escape.
  if (!separators.test(id)) return id;
  return id.replaceAll("%", "%25").replaceAll(":", "%3A").replaceAll("{", "%7B").replaceAll("}", "%7D");
}

function unescapeId(text: string): string {
  return text.replace(/%(25|3A|7B|7D)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function join(start: string, ids: readonly string[], bytesMax: number): string {
  let name = start;
  for (const id of ids) name += `:${escapeId(id)}`;
  // Counting bytes is for the few names that the bound does not settle.
  if (name.length * bytesPerUnitMax > bytesMax && isLonger(name, bytesMax)) {
    throw invalid(`the ids are too long, all together may have ${bytesMax} bytes`);
  }
  return name;
}

function isLonger(name: string, bytesMax: number): boolean {
  return name.length > bytesMax || (utf8Length(name) ?? bytesMax + 1) > bytesMax;
}

function invalid(detail: string): AppError {
  return new AppError("validation_failed", `Cannot name the place of this data: ${detail}`);
}
