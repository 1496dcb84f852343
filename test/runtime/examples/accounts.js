import { organisationId, projectId } from "./platform.js";

/** Returns a function that signs in a fan of your own accounts, with an API key of the environment or a new one. */
export async function fanTokens(platform, { GRANDSTAND_API_KEY: key, GRANDSTAND_API_SECRET: secret }) {
  const permissions = ["users:write", "tokens:write"];
  const pair = key
    ? { key, secret }
    : await platform.apiKeys.create({ organisationId, name: "fans", permissions });
  return async ({ id, name }) => {
    const fan = {
      type: "user",
      key: pair.key,
      secret: pair.secret,
      externalId: id,
      displayName: name,
      projectId,
    };
    const request = new Request("http://localhost/api/auth/token", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fan),
    });
    const answer = await platform.fetch(request, { address: "127.0.0.1" });
    const { data } = await answer.json();
    if (!answer.ok) throw new Error(`Cannot sign in ${id}: ${data.code}`);
    return data;
  };
}
