/** Takes out of the package's declarations what its users cannot see. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Shortens the types of routes, which only the client infers from, and removes declarations that no entry leads to. */
export function slimDeclarations(folder: string, entries: readonly string[]): void {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(file => file.endsWith(".d.ts"))
    .map(file => resolve(folder, file));
  const texts = new Map(
    files.map(file => [file, withoutUnusedImports(withPlainRoutes(readFileSync(file, "utf8")))]),
  );
  const kept = reachable(
    entries.map(file => resolve(folder, file)),
    texts,
  );
  for (const [file, text] of texts) {
    if (kept.has(file)) writeFileSync(file, text);
    else rmSync(file);
  }
}

const typedRoute = /import\("([^"]+)"\)\.TypedRoute</;

function withPlainRoutes(text: string): string {
  const found = typedRoute.exec(text);
  if (found === null) return text.replace(/(import\("[^"]+"\)\.AnyRoute)(?: \| \1)+/g, "$1");
  const end = closingBracket(text, found.index + found[0].length);
  return withPlainRoutes(`${text.slice(0, found.index)}import("${found[1]}").AnyRoute${text.slice(end + 1)}`);
}

/** Returns where the angle bracket closes that opens before an index; those in texts and arrows are none. */
function closingBracket(text: string, start: number): number {
  const tokens = /"(?:[^"\\]|\\.)*"|=>|[<>]/g;
  tokens.lastIndex = start;
  for (let depth = 1; depth > 0; ) {
    const token = tokens.exec(text)?.[0];
    if (token === undefined)
      throw new Error("Cannot shorten the type of a route: its bracket does not close");
    if (token === "<") depth += 1;
    if (token === ">") depth -= 1;
  }
  return tokens.lastIndex - 1;
}

function withoutUnusedImports(text: string): string {
  const imports = /^import (?:type )?(?:\* as (\w+)|\{([^}]*)\}) from "[^"]+";\n/gm;
  const rest = text.replace(imports, "");
  return text.replace(imports, (line, namespace: string | undefined, names = "") => {
    const imported = namespace === undefined ? names.split(",") : [namespace];
    return imported.some((name: string) =>
      new RegExp(`\\b${name.match(/\w+\s*$/)?.[0].trim()}\\b`).test(rest),
    )
      ? line
      : "";
  });
}

function reachable(entries: readonly string[], texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const specifiers = (texts.get(file) ?? "").matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g);
    for (const [, path = ""] of specifiers) waiting.push(join(dirname(file), path.replace(/\.ts$/, ".d.ts")));
  }
  return found;
}
