import { CliError, type CommandSpec } from "../command.ts";
import { exits } from "../exits.ts";

const encryptedSuffix = ".enc";

/** `export decrypt`. */
export const decryptCommand: CommandSpec = {
  words: ["export", "decrypt"],
  summary:
    "Decrypt an export once all of it is verified; the password is GRANDSTAND_EXPORT_PASSWORD, the first line of stdin, or asked for",
  args: [{ name: "file", description: "the encrypted export" }],
  flags: {
    out: {
      value: "path",
      description: `The file to write; otherwise the name without its ${encryptedSuffix}`,
    },
    force: { description: "Replace the file where it exists" },
  },
  async run({ args: [file = ""], flags }, context) {
    const out = flags.out ?? withoutSuffix(file);
    const bytes = await context.decryptExport({ file, out, isForced: "force" in flags });
    return { data: { file: out, bytes }, notes: [`Verified, and wrote ${bytes} bytes to ${out}.`] };
  },
};

/** @throws {CliError} The name tells nothing of a file to write. */
function withoutSuffix(file: string): string {
  const name = file.slice(0, -encryptedSuffix.length);
  if (file.endsWith(encryptedSuffix) && !/(^|\/)$/.test(name)) return name;
  throw new CliError(
    exits.usage,
    `--out must say where the rows go: ${file} does not end in ${encryptedSuffix}`,
    {
      code: "wrong_usage",
    },
  );
}
