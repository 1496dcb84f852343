/** Comparison of answers with the documents that JSON:API 1.1 describes. */

import { Ajv } from "ajv";

const memberName = "^[a-zA-Z0-9\\u0080-\\uffff]([a-zA-Z0-9\\u0080-\\uffff_ -]*[a-zA-Z0-9\\u0080-\\uffff])?$";
const object = { type: "object" };
const named = { type: "object", propertyNames: { pattern: memberName } };
const strict = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});
const link = {
  anyOf: [
    { type: "string", minLength: 1 },
    { type: "null" },
    strict({ href: { type: "string" }, title: {}, meta: object }, { required: ["href"] }),
  ],
};
const linksOf = (...names: readonly string[]) =>
  strict(Object.fromEntries([...names, "describedby"].map(name => [name, link])));
const pages = ["first", "last", "prev", "next"];
const identifier = strict(
  { type: { type: "string", pattern: memberName }, id: { type: "string", minLength: 1 }, meta: object },
  { required: ["type", "id"] },
);
const linkage = {
  anyOf: [{ type: "null" }, identifier, { type: "array", items: identifier, uniqueItems: true }],
};
const relationship = strict(
  { data: linkage, links: linksOf("self", "related", ...pages), meta: object },
  { minProperties: 1 },
);
const fields = { ...named, not: { anyOf: [{ required: ["id"] }, { required: ["type"] }] } };
const resource = strict(
  {
    type: { type: "string", pattern: memberName },
    id: { type: "string", minLength: 1 },
    attributes: fields,
    relationships: { ...fields, additionalProperties: relationship },
    links: linksOf("self"),
    meta: object,
  },
  { required: ["type", "id"] },
);
const error = strict(
  {
    id: { type: "string" },
    status: { type: "string", pattern: "^[45][0-9]{2}$" },
    code: { type: "string" },
    title: { type: "string" },
    detail: { type: "string" },
    links: linksOf("about", "type"),
    source: strict({
      pointer: { type: "string", pattern: "^(/([^~/]|~[01])*)*$" },
      parameter: { type: "string", minLength: 1 },
      header: { type: "string", minLength: 1 },
    }),
    meta: object,
  },
  { minProperties: 1 },
);
const top = { meta: object, jsonapi: object, links: linksOf("self", "related", ...pages) };
const result = strict({ data: { anyOf: [resource, { type: "null" }] }, meta: object });

/** The schema of a document (https://jsonapi.org/format/1.1/), with the results of Atomic Operations. */
const schema = {
  anyOf: [
    strict(
      {
        ...top,
        data: { anyOf: [{ type: "null" }, resource, { type: "array", items: resource, uniqueItems: true }] },
        included: { type: "array", items: resource },
      },
      { required: ["data"] },
    ),
    strict({ ...top, errors: { type: "array", items: error, minItems: 1 } }, { required: ["errors"] }),
    strict({ ...top, "atomic:results": { type: "array", items: result } }, { required: ["atomic:results"] }),
    strict({ ...top, "atomic:results": false }, { required: ["meta"] }),
  ],
};

let compiled: ReturnType<Ajv["compile"]> | undefined;

interface Identified {
  readonly type: string;
  readonly id: string;
  readonly relationships?: Readonly<
    Record<string, { readonly data?: Identified | readonly Identified[] | null }>
  >;
}

/** Throws what is wrong with an answer that says it is JSON:API. */
export function assertJsonApi(path: string, headers: Headers, text: string): void {
  if (headers.get("content-type")?.startsWith("application/vnd.api+json") !== true || text === "") return;
  if (!headers.get("content-type")?.match(/^application\/vnd\.api\+json(;\s*(ext|profile)="[^"]+")*$/))
    throw new Error(`JSON:API forbids the media type ${headers.get("content-type")}`);
  compiled ??= new Ajv({ strict: false, allErrors: false }).compile(schema);
  const document = JSON.parse(text);
  if (!compiled(document))
    throw new Error(`No JSON:API document: ${JSON.stringify(compiled.errors)} ${text}`);
  // Sparse fieldsets may leave out the relationship that leads to an included resource.
  if (!/fields(\[|%5B)/i.test(path)) assertLinked(document);
}

/** Every included resource is there once, and the document leads to it. */
function assertLinked({
  data = null,
  included = [],
}: {
  data?: Identified | Identified[] | null;
  included?: Identified[];
}) {
  const nameOf = ({ type, id }: Identified): string => `${type} ${id}`;
  const all = [...[data ?? []].flat(), ...included];
  const names = all.map(nameOf);
  if (new Set(names).size < names.length) throw new Error(`Resources are there twice: ${names.join()}`);
  const linked = new Set(
    all.flatMap(({ relationships = {} }) =>
      Object.values(relationships).flatMap(({ data: to }) => [to ?? []].flat().map(nameOf)),
    ),
  );
  const stray = included.map(nameOf).filter(name => !linked.has(name));
  if (stray.length > 0) throw new Error(`Nothing leads to the included ${stray.join()}`);
}
