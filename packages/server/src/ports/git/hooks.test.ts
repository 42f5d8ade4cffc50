import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import {
  bitbucketPush,
  commit,
  giteaPush,
  githubPush,
  gitlabPush,
  gitlabSignedPush,
  type Hook,
  ZEROS,
} from "../../areas/integrations/testing/hooks.ts"
import { createAppJwt } from "./drivers/github/app.ts"
import { openGit } from "./index.ts"
import type { Delivery, GitProviderName } from "./port.ts"

const NOW = Date.parse("2026-11-21T12:00:00Z")
const SECRET = `whsec_${Buffer.alloc(32, "secret").toString("base64")}`

const OTHER_SECRET = `whsec_${Buffer.alloc(32, "other").toString("base64")}`

const urls = { github: "", gitlab: "", bitbucket: "", gitea: "" }
const git = openGit({ http: { request: () => assert.fail("asks nobody") }, now: () => NOW, baseUrls: urls })

const deliveryOf = ({ headers, body }: Hook): Delivery => ({
  header: name => headers[name],
  body: Buffer.from(body),
})

const providers: readonly [GitProviderName, (secret: string) => Hook][] = [
  ["github", secret => githubPush(secret)],
  ["gitlab", secret => gitlabPush(secret)],
  ["gitlab", secret => gitlabSignedPush(secret, NOW)],
  ["gitea", secret => giteaPush(secret)],
  ["bitbucket", secret => bitbucketPush(secret)],
]

test("the example that GitHub publishes for its signatures is genuine", () => {
  // docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
  const delivery = deliveryOf({ headers: { "x-hub-signature-256": signature }, body: "Hello, World!" })
  const hooks = git.hooks("github")
  assert.equal(hooks.isGenuine(delivery, "It's a Secret to Everybody", NOW), true)
  assert.equal(hooks.isGenuine(delivery, "It's a Secret to Everybody.", NOW), false)
})

test("what Standard Webhooks' own library signs is genuine at GitLab, within five minutes", () => {
  const body = "{}"
  const hooks = git.hooks("gitlab")
  const signed = (atMs: number) =>
    deliveryOf({
      headers: {
        ...{ "webhook-id": "msg_1", "webhook-timestamp": String(atMs / 1000) },
        "webhook-signature": `v1,bm9uZQ== ${new Webhook(SECRET).sign("msg_1", new Date(atMs), body)}`,
      },
      body,
    })
  for (const [offsetMs, isGenuine] of [
    [0, true],
    [-299_000, true],
    [299_000, true],
    [-301_000, false],
    [301_000, false],
  ] as const)
    assert.equal(hooks.isGenuine(signed(NOW + offsetMs), SECRET, NOW), isGenuine, String(offsetMs))
})

test("the plain token is no way around a signature that is wrong", () => {
  const hook = gitlabSignedPush(SECRET, NOW)
  const forged = {
    body: hook.body,
    headers: { ...hook.headers, "webhook-signature": "v1,AAAA", "x-gitlab-token": SECRET },
  }
  assert.equal(git.hooks("gitlab").isGenuine(deliveryOf(forged), SECRET, NOW), false)
})

test("every provider's push is genuine with its secret alone, and reads the same", () => {
  for (const [provider, make] of providers) {
    const hooks = git.hooks(provider)
    const hook = make(SECRET)
    const delivery = deliveryOf(hook)
    assert.equal(hooks.isGenuine(delivery, SECRET, NOW), true, provider)
    assert.equal(hooks.isGenuine(delivery, OTHER_SECRET, NOW), false, provider)
    assert.equal(hooks.isGenuine(deliveryOf({ headers: {}, body: hook.body }), SECRET, NOW), false, provider)
    assert.ok(
      hooks.signatureHeaders.some(name => hook.headers[name] !== undefined),
      provider,
    )
    assert.ok(hooks.idOf(delivery), provider)
    const [event] = hooks.read(delivery).events
    assert.deepEqual(
      [
        event?.type,
        event?.repository,
        event?.ref,
        event?.commit,
        event?.commitBefore,
        event?.message,
        event?.author,
      ],
      ["push", "acme/shop", "refs/heads/main", commit(2), commit(1), "Sell more", "octocat"],
      provider,
    )
    // Bitbucket tells no files.
    assert.deepEqual(event?.paths, provider === "bitbucket" ? null : ["src/main.ts"], provider)
  }
})

test("tags and deletions are told apart from pushes at every provider", () => {
  const makers: readonly [GitProviderName, typeof githubPush][] = [
    ["github", githubPush],
    ["gitlab", gitlabPush],
    ["gitea", giteaPush],
    ["bitbucket", bitbucketPush],
  ]
  for (const [provider, make] of makers) {
    const read = (given: object) => git.hooks(provider).read(deliveryOf(make(SECRET, given))).events[0]
    const tag = read({ ref: "refs/tags/v1", before: ZEROS })
    assert.deepEqual(
      [tag?.type, tag?.ref, tag?.commitBefore, tag?.paths],
      ["tag", "refs/tags/v1", null, null],
      provider,
    )
    const deletion = read({ after: ZEROS })
    assert.deepEqual([deletion?.ref, deletion?.commit], ["refs/heads/main", null], provider)
  }
})

test("GitHub's form of a delivery is read too", () => {
  const { headers, body } = githubPush(SECRET)
  const form = {
    headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
    body: String(new URLSearchParams({ payload: body })),
  }
  assert.equal(git.hooks("github").read(deliveryOf(form)).events[0]?.commit, commit(2))
})

test("no body, however odd, makes reading fail otherwise than by refusing", () => {
  const event = fc.constantFrom("push", "pull_request", "ping", "repo:push", "pullrequest:created", "")
  const names = fc.constantFrom(
    ...[
      "ref",
      "after",
      "before",
      "commits",
      "repository",
      "full_name",
      "project",
      "object_kind",
      "pull_request",
    ],
    ...[
      "push",
      "changes",
      "new",
      "old",
      "target",
      "hash",
      "name",
      "number",
      "object_attributes",
      "iid",
      "head",
    ],
  )
  const tree = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("push", "refs/heads/x", "a\0b", commit(1), ZEROS, "\ud800", 7, null, true, 1e300),
      fc.string(),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(names, tie("value"), { maxKeys: 8 }),
    ),
  })).value
  fc.assert(
    fc.property(event, tree, (name, body) => {
      for (const provider of ["github", "gitlab", "gitea", "bitbucket"] as const) {
        const headers = { "x-github-event": name, "x-gitea-event": name, "x-event-key": name }
        try {
          for (const { repository, ref, message } of git
            .hooks(provider)
            .read(deliveryOf({ headers, body: JSON.stringify(body) })).events)
            for (const text of [repository, ref ?? "", message ?? ""])
              assert.ok(!text.includes("\0") && text.isWellFormed())
        } catch (error) {
          assert.equal((error as { kind?: string }).kind, "refused", String(error))
        }
      }
    }),
  )
})

test("an App's token request is signed as RS256 has it, with a clock that may be a minute off", async () => {
  const { createVerify, generateKeyPairSync } = await import("node:crypto")
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const pem = privateKey.export({ type: "pkcs1", format: "pem" }).toString()
  const [head = "", claims = "", signature = ""] = createAppJwt("123", pem, NOW).split(".")
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString())
  assert.deepEqual(read(head), { alg: "RS256", typ: "JWT" })
  assert.deepEqual(read(claims), { iat: NOW / 1000 - 60, exp: NOW / 1000 + 540, iss: "123" })
  const verify = createVerify("RSA-SHA256").update(`${head}.${claims}`)
  assert.equal(verify.verify(publicKey, signature, "base64url"), true)
})
