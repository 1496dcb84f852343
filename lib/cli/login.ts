/** Commands about who you are. */

import type { CliContext, CliInput, CommandSpec } from "./frame/command.ts";
import { CliError, exits, wrongUsage } from "./frame/errors.ts";
import { record } from "./frame/output.ts";
import { platformUrl, writeProfile } from "./frame/profile.ts";
import type { ResourceObject } from "./frame/resources.ts";

const who = record({
  id: "text",
  name: "text",
  email: "text",
  system_role: ["ROLE", "text"],
  profile: "text",
  control_url: "text",
});

const loginCommand: CommandSpec = {
  words: ["login"],
  summary: "Log in by a mailed code, or with a token, and keep the token in the profile",
  flags: {
    email: { value: "address", description: "Your address; otherwise you are asked" },
    "token-stdin": { description: "Read a token from stdin, or from a hidden prompt, instead" },
  },
  changes: "a new token of yours; the profile and its token on this machine",
  examples: ["login --control-url https://show.example", "login --token-stdin < token.txt"],
  requests: 3,
  output: who,
  makesProfile: true,
  exits: { 4: "the code or the token is wrong" },
  async run(input, context) {
    const { settings, config } = context;
    const { profileName } = settings;
    const url = platformUrl(settings);
    const token =
      "token-stdin" in input.flags ? await givenToken(context) : await mailedToken(input, context);
    const file = `tokens/${encodeURIComponent(profileName)}`;
    const variables = { ...context.variables, GRANDSTAND_TOKEN: token };
    const data = await meOf({ ...context, variables, api: () => openApi({ ...context, variables }) });
    await config.writeToken(file, token);
    await writeProfile(config, profileName, { control_url: url, token: { file } });
    const notes = [`Logged in as ${data.email}; profile ${profileName} keeps the token`];
    const isShadowed = (context.variables.GRANDSTAND_TOKEN ?? "") !== "";
    return {
      data,
      notes: isShadowed ? [...notes, "GRANDSTAND_TOKEN is set and wins over the profile"] : notes,
    };
  },
};

const logoutCommand: CommandSpec = {
  words: ["logout"],
  summary: "End the token of the profile and remove it",
  changes: "your token, on the platform and on this machine",
  examples: ["logout"],
  output: record({ profile: "text", was_logged_in: "flag" }),
  async run(_, context) {
    const { settings, config } = context;
    const { profile, profileName } = settings;
    const { token } = profile;
    if (token === undefined) return { data: { profile: profileName, was_logged_in: false } };
    const [, id] = /^gst_([0-9a-f]+)_/.exec(await config.token(token).catch(() => "")) ?? [];
    const ended = id === undefined ? false : await revoke(id, { ...context, variables: {} });
    if ("file" in token) await config.writeToken(token.file, null);
    await writeProfile(config, profileName, { token: null });
    const notes = ended ? [] : ["The platform had ended the token already"];
    return { data: { profile: profileName, was_logged_in: true }, notes };
  },
};

const whoamiCommand: CommandSpec = {
  words: ["whoami"],
  summary: "Show who the token belongs to",
  examples: ["whoami"],
  output: who,
  run: async (_, context) => ({ data: await meOf(context) }),
};

export const commands: readonly CommandSpec[] = [loginCommand, logoutCommand, whoamiCommand];

async function meOf({ api, settings }: CliContext) {
  const { data } = await (await api()).get("/me");
  const { name, email, system_role } = data.attributes;
  return {
    id: data.id,
    name,
    email,
    system_role,
    profile: settings.profileName,
    control_url: settings.controlUrl,
  };
}

async function givenToken({ terminal, files }: CliContext): Promise<string> {
  const text = terminal.isTerminal.stdin
    ? await terminal.ask("Token: ", { isSecret: true })
    : await files.readText("-", 4_096);
  const token = text?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw wrongUsage("login --token-stdin needs a token on stdin");
}

async function mailedToken({ flags }: CliInput, context: CliContext): Promise<string> {
  const { settings, terminal } = context;
  if (!settings.isInteractive) {
    throw wrongUsage("login asks for the mailed code, and nobody can be asked here", {
      code: "no_terminal",
      hint: "Pass a token of grandstand tokens create",
      next: "grandstand login --token-stdin",
    });
  }
  const email = flags.email ?? (await terminal.ask("E-mail address: "))?.trim() ?? "";
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw wrongUsage("login needs an e-mail address");
  const { createClient } = await import("./frame/requests.ts");
  const client = createClient({}, context);
  async function post(path: string, attributes: object): Promise<ResourceObject> {
    const body = { data: { type: "sessions", attributes } };
    // A code is good for one attempt.
    const { json } = await client.send(`/api/v2${path}`, { method: "POST", body, isRepeatable: false });
    return (json as { readonly data: ResourceObject }).data;
  }
  const { id } = await post("/sessions", { email });
  const code = (await terminal.ask(`Code that was mailed to ${email}: `))?.trim() ?? "";
  if (code === "") throw new CliError(exits.declined, "No code was given", { code: "declined" });
  const { attributes } = await post(`/sessions/${encodeURIComponent(id)}/verify`, { code }).catch(error => {
    if (!(error instanceof CliError) || error.options.code !== "invalid_code") throw error;
    throw new CliError(exits.unauthenticated, error.message, { ...error.options, next: "grandstand login" });
  });
  return String(attributes.token);
}

async function openApi(context: CliContext): ReturnType<CliContext["api"]> {
  const { ControlApi } = await import("./frame/control_api.ts");
  return await ControlApi.open(context);
}

/** Returns false if the token had ended already. */
async function revoke(id: string, context: CliContext): Promise<boolean> {
  try {
    const api = await openApi(context);
    await api.write("DELETE", `/access_tokens/${encodeURIComponent(id)}`, { within: null });
    return true;
  } catch (error) {
    if (error instanceof CliError && (error.options.status === 401 || error.options.status === 404))
      return false;
    throw error;
  }
}
