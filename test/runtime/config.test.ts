import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type ConfigResult, readConfig, variables } from "../../runtime/config.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";

function read(environment: Record<string, string>, flags: Record<string, string> = {}): ConfigResult {
  return readConfig({ environment: { GRANDSTAND_SECRET: secret, ...environment }, flags, demo: false });
}

function problemsOf(
  environment: Record<string, string>,
  flags: Record<string, string> = {},
): readonly string[] {
  const result = read(environment, flags);
  return result.ok ? [] : result.problems;
}

describe("the settings", () => {
  it("have defaults for everything but the secret", () => {
    const config = { host: "127.0.0.1", port: 8787, log: "info" };
    assert.deepEqual(readConfig({ environment: {}, flags: {}, demo: true }), { ok: true, config });
    assert.deepEqual(read({}), { ok: true, config: { ...config, secret: [secret] } });
    assert.equal(readConfig({ environment: {}, flags: {}, demo: false }).ok, false);
  });

  it("have several secrets, of which any passphrase can be one", () => {
    const passphrase = "a passphrase of more than thirty-two bytes";
    for (const text of [`${passphrase},${secret}`, `${passphrase} , ${secret}`]) {
      const result = read({ GRANDSTAND_SECRET: text });
      assert.deepEqual(result.ok && result.config.secret, [passphrase, secret]);
    }
  });

  it("come typed from the environment", () => {
    const result = read({
      GRANDSTAND_HOST: "::1",
      GRANDSTAND_PORT: "0",
      GRANDSTAND_PUBLIC_URL: "https://play.example.org/base",
      GRANDSTAND_BASE_PATH: "/base",
      GRANDSTAND_REDIS: "redis://a:6379, rediss://b:6380",
      GRANDSTAND_DEFAULT_SPACE: "main",
      GRANDSTAND_SIGNATURE_ALGORITHM: "ES256",
      GRANDSTAND_TRUSTED_PROXIES: "10.0.0.0/8, ::1",
      GRANDSTAND_CORS_ORIGINS: "https://a.example, http://localhost:3000",
      GRANDSTAND_GEOIP: "country.mmdb",
      GRANDSTAND_IDENTITY_LIMITS: "off",
      GRANDSTAND_ACCOUNT_ISSUER: "https://accounts.club.example",
      GRANDSTAND_OPENID_SECRETS: "https://login.example app-1 s3cret, https://other.example app-2 hush",
      GRANDSTAND_RATE_LIMITS: "public=200/60, private-hour",
      GRANDSTAND_PASSWORD_HASH: "argon2id",
      GRANDSTAND_LOG: "silent",
      GRANDSTAND_METRICS: "on",
      GRANDSTAND_FSYNC: "interval",
      GRANDSTAND_DEMO_FILE: "demo.json",
      GRANDSTAND_LIMITER: "redis://a:6379, redis://b:6379",
      GRANDSTAND_BLOBS: "https://id:s%2Fcret@s3.example.org/exports?region=eu-1",
      GRANDSTAND_EXPORT_INTERVAL: "0",
      GRANDSTAND_EXPORT_TTL: "3600",
    });
    assert.deepEqual(result, {
      ok: true,
      config: {
        host: "::1",
        port: 0,
        publicUrl: "https://play.example.org/base",
        basePath: "/base",
        redis: "redis://a:6379,rediss://b:6380",
        secret: [secret],
        defaultSpaceId: "main",
        signatureAlgorithm: "ES256",
        trustedProxies: ["10.0.0.0/8", "::1"],
        corsOrigins: ["https://a.example", "http://localhost:3000"],
        geoip: "country.mmdb",
        identityLimits: "off",
        accountIssuer: "https://accounts.club.example",
        openIdSecrets: [
          ["https://login.example", "app-1", "s3cret"],
          ["https://other.example", "app-2", "hush"],
        ],
        rateLimits: { public: { limit: 200, windowMs: 60_000 }, "private-hour": "on" },
        passwordHash: "argon2id",
        log: "silent",
        metrics: true,
        fsync: "interval",
        demoFile: "demo.json",
        limiter: "redis://a:6379,redis://b:6379",
        blobs: "https://id:s%2Fcret@s3.example.org/exports?region=eu-1",
        exportInterval: 0,
        exportTtl: 3_600,
      },
    });
  });

  it("come from a flag before the environment, and an empty variable is none", () => {
    const result = read({ GRANDSTAND_PORT: "1", GRANDSTAND_HOST: "" }, { port: "2" });
    assert.ok(result.ok);
    assert.deepEqual([result.config.port, result.config.host], [2, "127.0.0.1"]);
  });

  it("state the expected form of each wrong value", () => {
    const wrong: [string, string, RegExp][] = [
      ["GRANDSTAND_HOST", "a b", /a host name or address/],
      ["GRANDSTAND_PORT", "65536", /a port from 0 to 65535/],
      ["GRANDSTAND_PORT", "1e3", /a port from 0 to 65535/],
      ["GRANDSTAND_BLOBS", "s3://id:hidden@bucket", /a folder, or https/],
      ["GRANDSTAND_BLOBS", "https://s3.example.org/exports", /a folder, or https/],
      ["GRANDSTAND_EXPORT_INTERVAL", "-1", /a whole number of seconds from 0 to 86400/],
      ["GRANDSTAND_EXPORT_INTERVAL", "86401", /a whole number of seconds from 0 to 86400/],
      ["GRANDSTAND_EXPORT_TTL", "59", /a whole number of seconds from 60 to 2592000/],
      ["GRANDSTAND_PUBLIC_URL", "https://x.example/", /without .* slash at its end/],
      ["GRANDSTAND_PUBLIC_URL", "ftp://x.example", /http or https URL/],
      ["GRANDSTAND_BASE_PATH", "api", /a path such as/],
      ["GRANDSTAND_BASE_PATH", "/api/", /without a slash at its end/],
      ["GRANDSTAND_REDIS", "localhost:6379", /redis:\/\//],
      ["GRANDSTAND_POSTGRES", "localhost:5432", /postgres:\/\/user:password@host/],
      ["GRANDSTAND_POSTGRES", "mysql://localhost", /postgres:\/\/user:password@host/],
      ["GRANDSTAND_SECRET", "short", /hard to guess/],
      [
        "GRANDSTAND_SECRET",
        "correct horse, battery staple, and more",
        /without a comma, which stands between two secrets/,
      ],
      ["GRANDSTAND_SIGNATURE_ALGORITHM", "HS256", /one of EdDSA/],
      ["GRANDSTAND_TRUSTED_PROXIES", "10.0.0.0/99", /addresses or networks/],
      ["GRANDSTAND_WEBHOOK_NETWORKS", "10.0.0.0/99", /addresses or networks/],
      ["GRANDSTAND_OUTBOUND_NETWORKS", "10.0.0.0/99", /addresses or networks/],
      ["GRANDSTAND_CORS_ORIGINS", "https://a.example/path", /origins such as/],
      ["GRANDSTAND_IDENTITY_LIMITS", "yes", /on or off/],
      ["GRANDSTAND_ACCOUNT_ISSUER", "two words", /without spaces/],
      ["GRANDSTAND_OPENID_SECRETS", "https://login.example s3cret", /<issuer> <client id> <secret>/],
      ["GRANDSTAND_RATE_LIMITS", "public=many", /off, or items of <name>/],
      ["GRANDSTAND_PASSWORD_HASH", "bcrypt", /one of scrypt, argon2id/],
      ["GRANDSTAND_LOG", "trace", /one of debug, info, warn, error, silent/],
      ["GRANDSTAND_METRICS", "yes", /on or off/],
      ["GRANDSTAND_METRICS_PORT", "65536", /a port from 0 to 65535/],
      ["GRANDSTAND_LIMITER", "http://127.0.0.1", /memory, or redis:\/\/, rediss:\/\/ or unix:\/\/ URLs/],
      ["GRANDSTAND_FSYNC", "sometimes", /one of always, interval, never/],
      ["GRANDSTAND_MAIL_FROM", "Club", /an address, or Name <address>/],
      ["GRANDSTAND_MAIL_WEBHOOK_SECRET", "hunter2", /whsec_ and 24 to 64 random bytes/],
    ];
    for (const [name, value, message] of wrong) {
      const problems = problemsOf({ [name]: value });
      assert.equal(problems.length, 1, name);
      assert.match(problems[0] ?? "", new RegExp(`^${name} must be `));
      assert.match(problems[0] ?? "", message);
    }
  });

  it("name the flag where the flag is wrong", () => {
    assert.deepEqual(problemsOf({}, { port: "x" }), ["--port must be a port from 0 to 65535"]);
  });

  it("name a variable that there is not, and the closest one that there is", () => {
    assert.deepEqual(problemsOf({ GRANDSTAND_PROT: "1", GRANDSTAND_QUARTERBACK: "1", PORT: "1" }), [
      "There is no GRANDSTAND_PROT. Did you mean GRANDSTAND_PORT?",
      "There is no GRANDSTAND_QUARTERBACK.",
    ]);
    const ofCommands = { GRANDSTAND_URL: "x", GRANDSTAND_API_SECRET: "x", GRANDSTAND_EXPORT_PASSWORD: "x" };
    assert.deepEqual(problemsOf(ofCommands), []);
  });

  it("leave no work to workers that cannot share the store", () => {
    for (const name of ["GRANDSTAND_WORKERS", "GRANDSTAND_EXPORTS"]) {
      assert.deepEqual(problemsOf({ [name]: "off", GRANDSTAND_DATA: "data" }), [
        `${name} must not be off without GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_STORE: no worker can share another store`,
      ]);
      assert.deepEqual(problemsOf({ [name]: "off", GRANDSTAND_REDIS: "redis://localhost" }), []);
      assert.deepEqual(problemsOf({ [name]: "off", GRANDSTAND_POSTGRES: "postgres://localhost/x" }), []);
      assert.deepEqual(problemsOf({ [name]: "off", GRANDSTAND_STORE: "./store.js" }), []);
    }
  });

  it("name the space that a loyalty file configures", () => {
    const problems = problemsOf({ GRANDSTAND_LOYALTY: "loyalty.yaml" });
    assert.match(problems.join(), /^GRANDSTAND_DEFAULT_SPACE must be set with GRANDSTAND_LOYALTY/);
  });

  it("keep state in one place", () => {
    const problems = problemsOf({ GRANDSTAND_REDIS: "redis://localhost", GRANDSTAND_DATA: "data" });
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0] ?? "", /must not both be set/);
    const all = problemsOf({
      GRANDSTAND_REDIS: "redis://localhost",
      GRANDSTAND_POSTGRES: "postgres://localhost/x",
      GRANDSTAND_STORE: "./store.js",
      GRANDSTAND_DATA: "data",
    });
    assert.match(
      all.join(),
      /^GRANDSTAND_REDIS and GRANDSTAND_POSTGRES and GRANDSTAND_STORE and GRANDSTAND_DATA must not all be set/,
    );
  });

  it("send mail one way, and know all that it takes", () => {
    const smtp = { GRANDSTAND_SMTP: "smtps://user:pass@mail.example.org" };
    const from = { GRANDSTAND_MAIL_FROM: "Club <no-reply@example.org>" };
    const hook = { GRANDSTAND_MAIL_WEBHOOK: "https://mail.example.org/hook" };
    const hookSecret = { GRANDSTAND_MAIL_WEBHOOK_SECRET: `whsec_${"A".repeat(32)}` };
    const byServer = read({ ...smtp, ...from });
    assert.ok(byServer.ok);
    assert.deepEqual(
      [byServer.config.smtp, byServer.config.mailFrom],
      ["smtps://user:pass@mail.example.org", "Club <no-reply@example.org>"],
    );
    const byHook = read(hookSecret, { "mail-webhook": hook.GRANDSTAND_MAIL_WEBHOOK });
    assert.ok(byHook.ok);
    assert.equal(byHook.config.mailWebhook, hook.GRANDSTAND_MAIL_WEBHOOK);
    assert.deepEqual(problemsOf(smtp), ["GRANDSTAND_MAIL_FROM must be set with GRANDSTAND_SMTP"]);
    assert.deepEqual(problemsOf(smtp, { "mail-from": "no-reply@example.org" }), []);
    assert.deepEqual(problemsOf(hook), [
      "GRANDSTAND_MAIL_WEBHOOK_SECRET must be set with GRANDSTAND_MAIL_WEBHOOK",
    ]);
    assert.match(
      problemsOf({ ...smtp, ...from, ...hook, ...hookSecret }).join(),
      /^GRANDSTAND_SMTP and GRANDSTAND_MAIL_WEBHOOK must not both be set/,
    );
  });

  it("describe the fault of a mail server without its password", () => {
    const from = { GRANDSTAND_MAIL_FROM: "no-reply@example.org" };
    for (const url of [
      "http://user:hunter2@mail.example.org",
      "smtp://user:hunter2@mail.example.org?tls=off",
    ]) {
      const [problem, ...more] = problemsOf({ ...from, GRANDSTAND_SMTP: url });
      assert.deepEqual(more, []);
      assert.match(problem ?? "", /^GRANDSTAND_SMTP must be smtp:\/\/user:password@host, smtps/);
      assert.doesNotMatch(problem ?? "", /hunter2/);
    }
  });

  it("name header fields that browsers may send", () => {
    const result = read({ GRANDSTAND_CORS_HEADERS: "X-App-Version, x-b" });
    assert.ok(result.ok);
    assert.deepEqual(result.config.corsHeaders, ["x-app-version", "x-b"]);
    assert.equal(read({ GRANDSTAND_CORS_HEADERS: "a b" }).ok, false);
  });

  it("understand * and none as origins", () => {
    for (const [text, origins] of [
      ["*", "*"],
      ["none", []],
    ] as const) {
      const result = read({ GRANDSTAND_CORS_ORIGINS: text });
      assert.ok(result.ok);
      assert.deepEqual(result.config.corsOrigins, origins);
    }
  });

  it("have no flag for what holds a secret", () => {
    const secrets = [
      "GRANDSTAND_SECRET",
      "GRANDSTAND_LIMITER",
      "GRANDSTAND_BLOBS",
      "GRANDSTAND_SMTP",
      "GRANDSTAND_MAIL_WEBHOOK_SECRET",
    ];
    for (const secretName of secrets) {
      const definition = variables.find(({ name }) => name === secretName);
      assert.ok(definition !== undefined && definition.flag === undefined, secretName);
    }
  });
});

describe("the table of settings in the guide", () => {
  it("has every setting with its flag, description and default", () => {
    const guide = readFileSync(new URL("../../runtime/README.md", import.meta.url), "utf8");
    const rows = guide.split("\n").map(row => row.replace(/ +/g, " "));
    for (const { name, flag, description, otherwise } of variables) {
      const heading = flag === undefined ? `\`${name}\`` : `\`${name}\`, \`--${flag}\``;
      const row = `| ${heading} | ${description.replaceAll("|", "\\|")} | ${otherwise} |`;
      assert.ok(rows.includes(row), row);
    }
  });
});
