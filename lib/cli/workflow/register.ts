/** Commands about the workflows that a platform has. */

import { id, oneOf, someOf } from "../frame/checks.ts";
import type { CommandSpec } from "../frame/command.ts";
import { conflict, exits } from "../frame/errors.ts";
import { type Fields, fieldsOf, listed, record, rows } from "../frame/output.ts";
import { documentOf } from "../frame/resources.ts";

const scopes = ["organisation", "space", "project", "event"] as const;

const workflow: Fields = {
  id: ["ID", "text"],
  name: ["NAME", "text"],
  endpoint_url: ["ENDPOINT", "text"],
  availability: ["AVAILABILITY", "texts"],
  enabled: ["ENABLED", "flag"],
};

export const listWorkflows: CommandSpec = {
  words: ["workflow", "list"],
  summary: "List the workflows of the platform",
  flags: {
    scope: {
      value: "kind",
      description: "Only those that run there: organisation, space, project or event",
      check: oneOf(...scopes),
    },
  },
  examples: ["workflow list", "workflow list --scope event --json"],
  requests: 1,
  output: rows(workflow),
  async run({ flags: { scope } }, { api }) {
    const query = scope === undefined ? {} : { "filter[scope]": scope };
    return listed(await (await api()).all("/workflows", query), workflow);
  },
};

export const registerWorkflow: CommandSpec = {
  words: ["workflow", "register"],
  summary: "Register a workflow, or change the one of that name",
  args: [{ name: "name", description: "Its name" }],
  flags: {
    endpoint: { value: "url", description: "Address of the backend", required: true },
    availability: {
      value: "kinds",
      description: "Where it runs, separated by commas: organisation, space, project, event",
      required: true,
      check: someOf(...scopes),
    },
    disabled: { description: "Let nobody run it for now" },
  },
  changes: "Adds or changes the workflow for everybody on the platform",
  examples: [
    "workflow register Line-up --endpoint https://workflows.example/line-up --availability event,project",
  ],
  requests: 2,
  output: record(workflow),
  exits: {
    [exits.forbidden]: "You are no operator",
    [exits.conflict]: "The platform has several workflows of this name",
  },
  async run({ args: [name = ""], flags }, { api }) {
    const control = await api();
    const attributes = {
      name,
      endpoint_url: flags.endpoint,
      availability: [...new Set(flags.availability?.split(","))],
      enabled: !("disabled" in flags),
    };
    const [known, ...others] = (await control.all("/workflows")).data.filter(
      one => one.attributes.name === name,
    );
    if (others.length > 0)
      throw conflict(`The platform has several workflows named ${name}`, {
        next: "grandstand workflow list",
      });
    const document = documentOf("workflows", attributes, known === undefined ? {} : { id: known.id });
    const { data } = await (known === undefined
      ? control.write("POST", "/workflows", { within: null, document })
      : control.write("PATCH", `/workflows/${known.id}`, { within: null, document }));
    return { data: fieldsOf(workflow, data), notes: [`Run it: grandstand workflow run ${data.id}`] };
  },
};

export const removeWorkflow: CommandSpec = {
  words: ["workflow", "remove"],
  summary: "Remove a workflow from the platform; its backend is left alone",
  args: [{ name: "workflow", description: "Its id", check: id }],
  flags: { yes: { description: "Do not ask" } },
  changes: "Removes the workflow for everybody on the platform",
  examples: ["workflow remove $WORKFLOW --yes"],
  requests: 2,
  output: record(workflow),
  exits: { [exits.forbidden]: "You are no operator" },
  async run({ args: [workflowId = ""] }, { api, confirm }) {
    const control = await api();
    const path = `/workflows/${encodeURIComponent(workflowId)}`;
    const { data } = await control.get(path);
    await confirm(`Remove the workflow ${data.attributes.name}`);
    await control.write("DELETE", path, { within: null });
    return { data: fieldsOf(workflow, data) };
  },
};
