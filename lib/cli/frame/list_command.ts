import type { CliContext, CliInput, CommandSpec } from "./command.ts";
import type { Listing } from "./control_api.ts";
import { type Fields, fieldsOf, rows } from "./output.ts";
import type { ResourceObject } from "./resources.ts";

interface ListSpec extends Pick<CommandSpec, "words" | "summary" | "flags" | "examples"> {
  readonly fields: Fields;
  readonly path: (flags: CliInput["flags"]) => string;
  readonly query?: (flags: CliInput["flags"]) => Readonly<Record<string, string | undefined>>;
  readonly more?: (
    one: ResourceObject,
    list: Listing,
    context: CliContext,
  ) => Readonly<Record<string, unknown>>;
}

/** Makes a command that reads a list of the control API to its end. */
export function listCommand({
  fields,
  path,
  query = () => ({}),
  more = () => ({}),
  ...spec
}: ListSpec): CommandSpec {
  return {
    ...spec,
    output: rows(fields),
    async run({ flags }, context) {
      const list = await (await context.api()).all(path(flags), query(flags));
      const data = list.data.map(one => ({ ...fieldsOf(fields, one), ...more(one, list, context) }));
      return { data, meta: { truncated: list.isTruncated } };
    },
  };
}
