/** Names of the Redis keys of a partition: `<prefix>{<partition>}<shape><key>`. */

/** Prefix of every key unless another is configured. */
const defaultPrefix = "gs:";

/** One letter per kind of Redis key, so that equal names of two shapes never meet. */
export type KeyKind =
  /** STRING of a record. */
  | "r"
  /** HASH of a tally. */
  | "t"
  /** ZSET of a board. */
  | "b"
  /** HASH of those members of a board that have a tie or a version. */
  | "m"
  /** LIST of a log. */
  | "l"
  /** STRING of a limiter's rule. */
  | "g"
  /** STREAM of a queue. */
  | "q"
  /** ZSET of a queue's leases. */
  | "w"
  /** STRING of a blob: which upload it is, and its size. */
  | "a"
  /** HASH of the chunks of one upload of a blob. */
  | "d";

/** Characters with a meaning in glob-style patterns. */
const globCharacter = /[\\*?[\]]/g;
const escapedCharacter = /%(25|7B|7D)/g;

const tagCharacter = /[%{}]/;
const escapes: Readonly<Record<string, string>> = { "%": "%25", "{": "%7B", "}": "%7D" };

/** Names the keys of all partitions under one prefix. */
export class KeySpace {
  readonly #prefix: string;

  /** @throws {TypeError} The prefix contains a brace, which would move the hash tag. */
  constructor(prefix: string = defaultPrefix) {
    if (/[{}]/.test(prefix)) throw new TypeError(`Cannot use the prefix ${prefix}: it must have no braces`);
    this.#prefix = prefix;
  }

  /** Returns the beginning of all keys of a partition. The braces make it their hash tag, hence one Cluster slot. */
  root(partition: string): string {
    return `${this.#prefix}{${tagOf(partition)}}`;
  }

  /** Returns a glob-style pattern for the keys of one name in partitions whose names begin so. */
  pattern(partitionPrefix: string, kind: KeyKind, name: string): string {
    return `${literal(`${this.#prefix}{${tagOf(partitionPrefix)}`)}*}${literal(kind + name)}`;
  }

  partitionOf(key: string): string {
    const begin = this.#prefix.length + 1;
    const tag = key.slice(begin, key.indexOf("}", begin));
    return tag.replace(escapedCharacter, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

function tagOf(partition: string): string {
  return tagCharacter.test(partition)
    ? partition.replace(/[%{}]/g, found => escapes[found] ?? found)
    : partition;
}

function literal(text: string): string {
  return text.replace(globCharacter, "\\$&");
}

/** Returns the Redis key of one name below a root. */
export function keyOf(root: string, kind: KeyKind, name: string): string {
  return root + kind + name;
}
