import { pathOrText } from "../frame/checks.ts";
import { missingFile, wrongUsage } from "../frame/errors.ts";
import type { CliFiles } from "../frame/host.ts";

/**
 * Reads values of inputs, `name=value` or `name=@path`: files become Base64. `@@` begins a text with `@`.
 *
 * @throws {CliError} A value has no name, or a file is missing or too large.
 */
export async function readInputs(
  given: readonly string[],
  files: CliFiles,
): Promise<Readonly<Record<string, string>>> {
  const inputs = given.map(async text => {
    const [, name = "", value = ""] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (name === "") throw wrongUsage(`--input must be name=value or name=@path, not ${text}`);
    const read = pathOrText(value);
    return [name, "path" in read ? await readBase64(read.path, files) : read.text] as const;
  });
  return Object.fromEntries(await Promise.all(inputs));
}

/** Reads a file for an input. @throws {CliError} It is missing, a folder or too large. */
export async function readBase64(path: string, files: CliFiles): Promise<string> {
  const file = await files.open(path);
  if (file === null) throw missingFile(path);
  const { dialogueLimits, encodeFile } = await import("../../workflow/dialogue/mod.ts");
  const bytes = new Uint8Array(await new Response(file.stream()).arrayBuffer());
  const { fileBytesMax } = dialogueLimits;
  if (bytes.length > fileBytesMax) throw wrongUsage(`${path} must not exceed ${fileBytesMax} bytes`);
  return encodeFile(bytes);
}
