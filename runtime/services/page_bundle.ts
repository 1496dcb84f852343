import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { PageFile } from "../../lib/pages/studio/mod.ts";

/** Bundles the script and the `style.css` in a folder of lib, for browsers of 2024 and later. Their names get a digest. */
export async function bundlePage(
  folder: string,
  script: string,
): Promise<{ readonly script: PageFile; readonly style: PageFile }> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL(`../../lib/${folder}`, import.meta.url)),
    entryPoints: [`${script}.ts`, "style.css"],
    outdir: "out",
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2023", "chrome123", "firefox120", "safari17.5"],
    legalComments: "none",
    write: false,
    logLevel: "silent",
  });
  const fileOf = (name: string, ending: string, mediaType: string): PageFile => {
    const text = outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
    const digest = digestOf(text);
    return { name: `${name}-${digest.slice(0, 12)}${ending}`, mediaType, text, digest };
  };
  return { script: fileOf(script, ".js", "text/javascript"), style: fileOf("style", ".css", "text/css") };
}

/** Returns a digest of a text, 32 digits. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
