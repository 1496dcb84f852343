/** Authoring users, what they may do, and what they did. */

import * as v from "valibot";
import { attribute, define, readOnly, withDefault } from "../resource.ts";
import { authorEmail, jsonObject, line, unixSeconds, uuidText } from "../schemas.ts";

const grantedRole = v.picklist(["viewer", "creator", "admin"]);

const scopes = ["organisations", "spaces", "projects"] as const;

export const people = define({
  users: {
    description: "A person who authors. `GET /me` answers the caller.",
    home: "account",
    operations: [],
    write: "operator",
    attributes: {
      name: readOnly(v.string(), "Name"),
      email: readOnly(v.string(), "E-mail address"),
      system_role: readOnly(v.picklist(["user", "operator"]), "`operator`: runs the platform", {
        default: "user",
      }),
    },
  },
  scope_roles: {
    noun: "role",
    description: "The role of a person in an organisation, space or project. Roles are inherited downward.",
    home: "organisation",
    operations: ["list", "create", "change", "remove"],
    read: "admin",
    write: "admin",
    attributes: {
      role: attribute(grantedRole, "The role", { required: true }),
      email: attribute(authorEmail, "Address of the person, who need not have logged in before", {
        write: "create",
        required: true,
      }),
    },
    relationships: {
      user: { kind: "one", type: "users", description: "The person" },
      scope: {
        kind: "one",
        type: "organisations",
        description: "Where the role counts: an organisation, space or project",
      },
    },
    under: scopes,
    path: "roles",
    isCreatedUnderParent: true,
    sorts: ["created_at"],
    example: { email: "sam@example.com", role: "creator" },
    changeExample: { role: "viewer" },
  },
  access_tokens: {
    description: "A token of the caller for tools. Its secret is answered once, when it is created.",
    home: "account",
    operations: ["list", "create", "remove"],
    write: "viewer",
    attributes: {
      name: attribute(line(1, 100), "What it is for", { write: "create", required: true }),
      kind: attribute(
        v.picklist(["access", "dialogue"]),
        "`dialogue`: for the backend of a workflow, for ten minutes at most",
        { write: "create", default: "access" },
      ),
      audience: attribute(
        v.pipe(
          v.string(),
          v.maxLength(2_048),
          v.regex(/^https?:\/\/\S+$/, "Expected an http or https address"),
        ),
        "Address of the backend that a token of the kind `dialogue` is for: others refuse it",
        { write: "create", nullable: true },
      ),
      role_cap: attribute(grantedRole, "The most that it may do, whatever its owner may", {
        write: "create",
        nullable: true,
      }),
      scopes: attribute(
        v.pipe(
          v.array(
            v.strictObject({
              type: v.picklist([...scopes, "events"]),
              id: uuidText,
            }),
          ),
          v.minLength(1),
          v.maxLength(50),
        ),
        "Where it works, with everything below; null: everywhere. An event is for tokens of the kind `dialogue`",
        { write: "create", nullable: true },
      ),
      expires_at: attribute(unixSeconds, "When it ends, in Unix seconds; null: a year after its creation", {
        write: "create",
        nullable: true,
      }),
      prefix: readOnly(v.string(), "The beginning of the token, by which people recognise it"),
      last_used_at: readOnly(
        v.nullable(v.number()),
        "When it was used last, to the minute, in Unix seconds; null: never",
      ),
      token: readOnly(v.string(), "The token itself, in the answer of its creation alone"),
    },
    under: [null],
    sorts: ["created_at"],
  },
  audit_entries: {
    description: "A change, with the person and the token that made it.",
    home: "organisation",
    operations: ["list"],
    read: "admin",
    write: "operator",
    attributes: {
      at: readOnly(v.number(), "When, in Unix seconds"),
      user_id: readOnly(v.nullable(v.string()), "The person; null for the platform itself"),
      user_email: readOnly(v.nullable(v.string()), "The person's e-mail address"),
      token_id: readOnly(v.nullable(v.string()), "The token"),
      request_id: readOnly(v.nullable(v.string()), "The request"),
      changes: readOnly(
        v.array(jsonObject),
        "What was done to which resources: `op`, `type`, `id`, the `etag` afterwards, the `title` that it has or had, and the names of written attributes",
        { default: [] },
      ),
    },
    under: scopes,
    path: "audit",
  },
  workflows: {
    description: "A registered workflow backend.",
    home: "platform",
    operations: ["list", "read", "create", "change", "remove"],
    write: "operator",
    attributes: {
      name: attribute(line(1, 200), "Name", { required: true }),
      endpoint_url: attribute(
        v.pipe(
          v.string(),
          v.maxLength(2_048),
          v.regex(
            /^https?:\/\/[^\s@/?#]+([/?#]\S*)?$/,
            "Expected an http or https address without a user name",
          ),
        ),
        "Address that takes the requests: https, or http in networks that the deployment allows",
        { required: true },
      ),
      availability: attribute(
        v.pipe(
          v.array(v.picklist(["organisation", "space", "project", "event"])),
          v.minLength(1),
          v.maxLength(4),
        ),
        "Scopes where it can be started",
        { required: true },
      ),
      enabled: withDefault(v.boolean(), "True if it can be started", true),
    },
    under: [null],
    filters: { scope: v.picklist(["organisation", "space", "project", "event"]) },
    entriesMax: 1_000,
    sorts: ["name"],
    example: { name: "Line-up", endpoint_url: "https://workflows.example/line-up", availability: ["event"] },
  },
});
