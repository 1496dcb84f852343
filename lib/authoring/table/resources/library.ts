/** What the projects of a space share: apps with their content types, assets and tags. */

import * as v from "valibot";
import { attribute, define, owner, readOnly, withDefault } from "../resource.ts";
import { fileName, jsonObject, line, uuidText } from "../schemas.ts";

const text = v.nullable(v.string());

export const library = define({
  apps: {
    description:
      "One version of an app: what its specification said when it was registered. It never changes.",
    home: "space",
    operations: ["list", "read", "create", "remove"],
    write: "admin",
    attributes: {
      spec_url: attribute(
        v.pipe(
          v.string(),
          v.maxLength(1_024),
          v.regex(/^https?:\/\/[!-~]+$/, "Expected an http or https address"),
        ),
        "Address of `spec.json`; `elements.json` lies beside it",
        { write: "create", required: true },
      ),
      name: readOnly(text, "Name"),
      spec_id: readOnly(text, "Id of the app in its specification"),
      version: readOnly(text, "Version in the specification"),
      spec_digest: readOnly(text, "Digest of the specification and its element types"),
      fetched_at: readOnly(v.nullable(v.number()), "When the specification was read, in Unix seconds"),
      project_count: readOnly(v.number(), "Number of projects that use it", { default: 0 }),
    },
    relationships: {
      space: owner("spaces"),
    },
    under: ["spaces"],
    entriesMax: 500,
    sorts: ["created_at"],
    include: ["space"],
    example: { spec_url: "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json" },
  },
  spec_checks: {
    noun: "check of an address",
    description:
      "What reading `spec.json` and the `elements.json` beside it finds, step by step. It is not kept.",
    home: "account",
    operations: [],
    write: "viewer",
    attributes: {
      spec_url: attribute(v.pipe(v.string(), v.maxLength(2_048)), "Address of `spec.json`", {
        required: true,
      }),
      user_agent: attribute(
        v.pipe(v.string(), v.regex(/^[ -~]{1,200}$/, "Expected at most 200 visible ASCII characters")),
        "Sent in place of our own, which names the authoring environment",
      ),
      passed: readOnly(v.boolean(), "True if an app can be made of it"),
      checks: readOnly(
        v.array(jsonObject),
        "Every step of each `file` (`check`) with its `result`: `pass`, `fail` or `skipped`; of a failed one `detail` and `pointer` into the file",
      ),
    },
    example: { spec_url: "https://apps.example/match/1.0.0/spec.json" },
  },
  content_types: {
    description: "A type of elements that the app of a project has.",
    home: "project",
    operations: ["list", "read"],
    write: "operator",
    attributes: {
      name: readOnly(v.string(), "Name"),
      content_type: readOnly(v.string(), "The value that elements have"),
      derived_from: readOnly(text, "The type that its behaviour comes from"),
      enabled: readOnly(v.boolean(), "True if the project uses it", { default: true }),
      wrapper: readOnly(v.boolean(), "True if its elements show other elements", { default: false }),
      definition: readOnly(jsonObject, "Its item in `elements.json`", { default: {} }),
      templates: readOnly(v.array(jsonObject), "Ready-made contents", { default: [] }),
    },
    relationships: { project: { kind: "one", type: "projects", description: "Its project" } },
    under: ["projects"],
  },
  assets: {
    description: "A file of a space with a public address.",
    home: "space",
    operations: ["list", "read", "change", "remove"],
    write: "creator",
    attributes: {
      name: attribute(fileName, "Name of the file"),
      alt_text: withDefault(line(0, 1_000), "What it shows; empty for decoration", ""),
      mime: readOnly(text, "Media type, found in the contents"),
      bytes: readOnly(v.number(), "Size of the stored file", { default: 0 }),
      sha256: readOnly(text, "Digest of the stored file, in hexadecimal digits"),
      width: readOnly(
        v.nullable(v.number()),
        "Width of an image in pixels, as it is shown: its orientation counts",
      ),
      height: readOnly(
        v.nullable(v.number()),
        "Height of an image in pixels, as it is shown: its orientation counts",
      ),
      url: readOnly(text, "Public address"),
    },
    relationships: {
      space: { kind: "one", type: "spaces", description: "Its space" },
      tags: {
        kind: "many",
        type: "tags",
        write: "links",
        description: "Its tags; changed through their own path",
      },
      uploader: { kind: "one", type: "users", description: "Who uploaded it" },
    },
    under: ["spaces"],
    filters: {
      mime: v.pipe(
        v.string(),
        v.toLowerCase(),
        v.regex(
          /^[a-z]{1,20}\/([a-z0-9.+-]{1,80}|\*)$/,
          "Expected a media type, such as image/png or image/*",
        ),
      ),
      tag: uuidText,
      uploader: uuidText,
    },
    isPagedByNumber: true,
    sorts: ["created_at"],
    include: ["space", "tags", "uploader"],
    example: { name: "Logo" },
  },
  tags: {
    description: "A label of assets.",
    home: "space",
    operations: ["list", "create"],
    write: "creator",
    attributes: {
      name: attribute(line(1, 100), "Name, once in a space", { write: "create", required: true }),
    },
    relationships: {
      space: owner("spaces"),
    },
    under: ["spaces"],
    entriesMax: 1_000,
    sorts: ["name"],
    example: { name: "Logos" },
  },
});
