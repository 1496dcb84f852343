/**
 * Declarations of the typed client for the package: flat, with the descriptions of the API reference, and without those of the
 * server, which the client infers its types from here.
 */

import { createMemoryBlobs, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { type Resource, resources } from "../../lib/authoring/table/mod.ts";
import { createPlatform, MasterSecret, silentLogger } from "../../lib/mod.ts";
import { type Endpoint, methodsOf, type Operation } from "./operations.ts";
import { comment, namesUsed, type Schemas, typeOf } from "./schemas.ts";

/** Areas of the client with the areas of the document that they have. */
const areaTags: Readonly<Record<string, readonly string[]>> = {
  identity: ["identity", "space-tokens"],
  location: ["location"],
  leaderboards: ["leaderboards"],
  loyalty: ["loyalty"],
  audience: ["audience"],
  feeds: ["feeds"],
  workflow: [],
  control: ["control"],
};

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** Returns the declarations of the areas by the names of their files. */
export async function areaDeclarations(): Promise<ReadonlyMap<string, string>> {
  const { paths, components } = await readDocument();
  const { schemas } = components;
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => withSorts({ ...one, method: method.toUpperCase(), path })),
  );
  const areas = Object.keys(areaTags).map(name => ({
    name,
    endpoints: endpoints.filter(endpoint => areaOf(endpoint) === name),
  }));
  const used = areas.map(area => namesUsed(area.endpoints.map(withoutErrors), schemas));
  const isShared = (name: string): boolean => used.filter(names => names.has(name)).length > 1;
  const shared = [...new Set(used.flatMap(names => [...names]))].filter(isShared).toSorted();
  const files = new Map<string, string>();
  for (const [index, { name, endpoints }] of areas.entries()) {
    const names = [...(used[index] ?? [])].filter(one => !isShared(one)).toSorted();
    const types = names.map(one => declaration(one, schemas)).join("\n");
    files.set(`${name}.d.ts`, areaFile(name, { endpoints, types, shared, schemas }));
  }
  const types = shared.map(one => declaration(one, schemas)).join("\n");
  files.set("shared.d.ts", types);
  return files;
}

async function readDocument(): Promise<OpenapiDocument> {
  const platform = await createPlatform({
    store: createMemoryStore(),
    secret: new MasterSecret("a platform that nobody calls has no secrets"),
    blobs: createMemoryBlobs(),
    control: createControl,
    logger: silentLogger,
  });
  const response = await platform.fetch(new Request("http://localhost/openapi.json"));
  await platform.close();
  return (await response.json()) as OpenapiDocument;
}

/** Lets `sort` of a list of resources be one of the names that the table has: the document has them in words alone. */
function withSorts(endpoint: Endpoint): Endpoint {
  const last = endpoint.path.split("/").at(-1);
  const { sorts = [] } = Object.values<Resource>(resources).find(({ path }) => path === last) ?? {};
  const schema = { enum: sorts.flatMap(name => [name, `-${name}`]) };
  const parameters = endpoint.parameters.map(one => (one.name === "sort" ? { ...one, schema } : one));
  return { ...endpoint, parameters };
}

function areaOf({ tags: [tag = ""], path }: Endpoint): string | undefined {
  if (tag === "control" && path.startsWith("/api/v2/workflows")) return "workflow";
  return Object.keys(areaTags).find(name => areaTags[name]?.includes(tag));
}

function withoutErrors(endpoint: Endpoint): Endpoint {
  const responses = Object.entries(endpoint.responses).filter(([status]) => status.startsWith("2"));
  return { ...endpoint, responses: Object.fromEntries(responses) };
}

function declaration(name: string, schemas: Schemas): string {
  const schema = schemas[name] ?? {};
  const about = comment(schema.description ?? `\`${name}\` of the OpenAPI document.`);
  const type = typeOf(schema);
  const isInterface = type.startsWith("{") && !/^\}.*\S/m.test(type.slice(0, -1));
  return isInterface
    ? `${about}export interface ${name} ${type}\n`
    : `${about}export type ${name} = ${type};\n`;
}

interface AreaContents {
  readonly endpoints: readonly Endpoint[];
  readonly types: string;
  readonly shared: readonly string[];
  readonly schemas: Schemas;
}

function areaFile(name: string, { endpoints, types, shared, schemas }: AreaContents): string {
  const operations = `${name.charAt(0).toUpperCase()}${name.slice(1)}Operations`;
  const methods = endpoints.map(one => methodsOf(one, schemas)).join("\n");
  const uses = (text: string) => (one: string) =>
    new RegExp(`\\b${one}\\b`).test(text.replace(/\/\*.*\*\//g, ""));
  const own = ["Answer", "Area", "CallOptions", "List", "NoInput", "RawBody"].filter(uses(`Area ${methods}`));
  const others = shared.filter(uses(methods + types));
  return [
    `import type { ${own.join(", ")} } from "./area.ts";`,
    ...(others.length === 0 ? [] : [`import type { ${others.join(", ")} } from "./shared.ts";`]),
    types,
    `/** Operations of the area ${name}. */`,
    `export interface ${operations} {\n${methods}}\n`,
    `/** The area ${name}, for \`createClient\`. */`,
    `export declare const ${name}: Area<${operations}>;\n`,
  ].join("\n");
}
