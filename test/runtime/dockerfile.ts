/** Runs a Dockerfile without containers: each stage is a folder, in which its commands run one by one. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";

/** What an image says of its containers. */
export interface Image {
  readonly base: string;
  /** The folder that stands for `/`. */
  readonly root: string;
  readonly environment: Record<string, string>;
  workdir: string;
  user: string;
  healthCheck: readonly string[];
  healthFlags: readonly string[];
  entrypoint: readonly string[];
  command: readonly string[];
}

interface Instruction {
  readonly name: string;
  readonly flags: readonly string[];
  readonly rest: string;
}

/** Reads the instructions; a line that ends with a backslash goes on. */
function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.replace(/\\\n/g, " ").split("\n");
  return lines
    .filter(line => line.trim() !== "" && !line.startsWith("#"))
    .map(line => {
      const [, name = "", flags = "", rest = ""] = /^([A-Z]+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
      return { name, flags: flags.split(/\s+/).filter(Boolean), rest };
    });
}

/** Where an image is built. */
interface Place {
  /** The folder of the sources. */
  readonly context: string;
  /** Has a folder for each stage. */
  readonly folder: string;
  /** Commands that run in place of others. */
  readonly inPlaceOf: Readonly<Record<string, string>>;
}

/**
 * Builds every stage of a Dockerfile in a folder of its own below the one for all, and returns the last.
 *
 * @throws {Error} A command fails, is none that this knows, or one that shall be replaced is not there.
 */
export function buildImage(text: string, { context, folder, inPlaceOf }: Place): Image {
  for (const command of Object.keys(inPlaceOf))
    if (!text.includes(`RUN ${command}\n`)) throw new Error(`The Dockerfile does not run ${command}`);
  const stages = new Map<string, Image>();
  let image: Image | undefined;
  for (const instruction of instructionsOf(text)) {
    if (instruction.name === "FROM") {
      const [base = "", , name = ""] = instruction.rest.split(/\s+/);
      const root = join(folder, String(stages.size));
      mkdirSync(root);
      image = {
        ...{ base, root, environment: {}, workdir: "/" },
        ...{ user: "0:0", healthCheck: [], healthFlags: [], entrypoint: [], command: [] },
      };
      stages.set(name, image);
    } else if (image === undefined) throw new Error("A Dockerfile begins with FROM");
    else follow(instruction, image, { stages, context, inPlaceOf });
  }
  if (image === undefined) throw new Error("The Dockerfile is empty");
  return image;
}

interface Surroundings extends Pick<Place, "context" | "inPlaceOf"> {
  readonly stages: ReadonlyMap<string, Image>;
}

function follow(
  { name, flags, rest }: Instruction,
  image: Image,
  { stages, context, inPlaceOf }: Surroundings,
): void {
  const folder = join(image.root, image.workdir);
  switch (name) {
    case "WORKDIR":
      image.workdir = rest;
      mkdirSync(join(image.root, rest), { recursive: true });
      return;
    case "ENV": {
      const [variable = "", value = ""] = rest.split(/=(.*)/s);
      image.environment[variable] = value;
      return;
    }
    case "COPY": {
      const stage = flags[0]?.replace("--from=", "");
      const from = stage === undefined ? context : (stages.get(stage)?.root ?? "");
      const paths = rest.split(/\s+/);
      const target = paths.pop() ?? "";
      for (const path of paths) {
        const place = target.endsWith("/") ? join(target, basename(path)) : target;
        cpSync(join(from, path), join(folder, place), { recursive: true, verbatimSymlinks: true });
      }
      return;
    }
    case "RUN": {
      const { status, stdout, stderr } = spawnSync("sh", ["-c", inPlaceOf[rest] ?? rest], {
        cwd: folder,
        encoding: "utf8",
      });
      if (status !== 0) throw new Error(`RUN ${rest} ended with ${status}: ${stdout}${stderr}`);
      return;
    }
    case "USER":
      image.user = rest;
      return;
    case "EXPOSE":
      return;
    case "HEALTHCHECK":
      image.healthFlags = flags;
      image.healthCheck = JSON.parse(rest.replace(/^CMD /, ""));
      return;
    case "ENTRYPOINT":
      image.entrypoint = JSON.parse(rest);
      return;
    case "CMD":
      image.command = JSON.parse(rest);
      return;
    default:
      throw new Error(`The instruction ${name} is none that this test runs`);
  }
}
