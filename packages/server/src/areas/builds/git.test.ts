/** Builds from git repositories, which git itself serves. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { test } from "node:test"
import { git, startGitServer } from "./testing/git-server.ts"
import { buildWorld, logOf, over, pull } from "./testing/world.ts"

const DOCKERFILE = "FROM scratch\nCOPY . /\n"

test("builds from repositories", async t => {
  const server = await startGitServer(t)
  const world = await buildWorld(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.1" } })
  const { p, svc, secret } = world
  const long = Array.from({ length: 4_000 }, (_, line) => `line ${line} ${line * 7919}`).join("\n")
  const web = await server.repository("web", {
    ...{ Dockerfile: DOCKERFILE, a: "one", "docs/Dockerfile": DOCKERFILE, "docs/d": "docs" },
    ...{ long, "long-too": `${long}\nand more`, ".dockerignore": "long*\nrandom\n" },
    random: randomBytes(300_000).toString("latin1"),
  })
  const first = git(web, ["rev-parse", "HEAD"])
  git(web, ["tag", "-a", "v1", "-m", "one"])
  await server.commit(web, { a: "two", long: `${long}\nchanged` })
  const repository = `${server.url}/web`

  const build = async (given: Parameters<typeof svc.builds.create>[0]) =>
    await over(world, (await svc.builds.create(given)).id)
  const filesOf = async (given: Parameters<typeof svc.builds.create>[0]) => {
    const done = await build(given)
    assert.equal(done.status, "SUCCESS", `${done.status_reason}\n${await logOf(world, done.id)}`)
    return { done, files: (await pull(world, done)).layers.flat().join(" | ") }
  }

  await t.test("a repository becomes an image: its default branch, a tag, a commit, a folder", async () => {
    git(web, ["gc", "-q", "--aggressive"])
    const { done, files } = await filesOf({ repository, image_tag: "web:1" })
    assert.deepEqual([done.source, done.branch, done.repository], ["git", "main", repository])
    assert.equal(done.commit_sha, git(web, ["rev-parse", "HEAD"]))
    assert.match(files, /a 644 0:0 two/)
    const tag = await filesOf({ repository, branch: "v1" })
    assert.equal(tag.done.commit_sha, first)
    assert.match(tag.files, /a 644 0:0 one/)
    assert.match((await filesOf({ repository, commit_sha: first })).files, /a 644 0:0 one/)
    const { files: docs } = await filesOf({ repository, context_path: "docs" })
    assert.match(docs, /d 644 0:0 docs/)
    assert.doesNotMatch(docs, /two/)
  })

  await t.test("files come as git has them, those that it keeps as differences too", async () => {
    const { files } = await filesOf({ repository, dockerfile_path: "docs/Dockerfile", branch: "main" })
    assert.doesNotMatch(files, /long 644/)
    const ignored = await server.repository("all", {
      Dockerfile: DOCKERFILE,
      long,
      "long-too": `${long}\nand more`,
    })
    git(ignored, ["gc", "-q", "--aggressive"])
    const all = await filesOf({ repository: `${server.url}/all/` })
    assert.match(all.files, /long 644 0:0 line 0 0/)
    assert.match(all.files, /long-too 644 0:0 line 0 0/)
  })

  await t.test("a private repository opens with its token, which nobody sees again", async () => {
    const given = { repository: `${server.url}/private` }
    await server.repository("private", {
      Dockerfile: `FROM scratch\nCOPY a /\nCOPY ${server.token} /\n`,
      a: "p",
    })
    const closed = await build(given)
    assert.match(closed.status_reason ?? "", /needs `auth_token` \(401\)/)
    const wrong = await build({ ...given, auth_token: "wrong-token" })
    assert.match(wrong.status_reason ?? "", /the token does not open it/)
    const done = await build({ ...given, auth_token: server.token })
    const shown = JSON.stringify([done, await logOf(world, done.id), await svc.builds.list()])
    assert.match(shown, /\*\*\* is not there/)
    assert.doesNotMatch(shown, /t0ken-of/)
    assert.equal("auth_token" in done, false)
  })

  await t.test("what is no repository is refused at once, or ends the build with the reason", async () => {
    for (const bad of [
      "git@github.com:a/b.git",
      "file:///etc",
      "https://u:p@example.com/a",
      "http://10.0.0.1/x",
    ])
      await assert.rejects(svc.builds.create({ repository: bad }), { code: "invalid_parameter" }, bad)
    for (const more of [{ context_path: "../x" }, { platform: "windows/amd64" }] as const)
      await assert.rejects(svc.builds.create({ repository, ...more }), { code: "invalid_parameter" })
    await assert.rejects(svc.builds.create({ repository, commit_sha: "abc" }), { code: "validation_failed" })
    await assert.rejects(svc.builds.create({ repository, build_args: { "A B": "x" } }), {
      code: "invalid_build_args",
    })
    const reasonOf = async (given: Parameters<typeof svc.builds.create>[0]) =>
      (await build(given)).status_reason ?? ""
    assert.match(await reasonOf({ repository, branch: "nope" }), /the repository has no nope/)
    assert.match(await reasonOf({ repository, commit_sha: "1".repeat(40) }), /server said/)
    assert.match(await reasonOf({ repository, context_path: "none" }), /no folder none/)
    assert.match(await reasonOf({ repository: `${server.url}/none` }), /is not there/)
  })

  await t.test("the fields' other names are understood", async () => {
    const reply = await p.request("/v1/build", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ repo_url: repository, ref: "v1" }),
    })
    assert.equal(reply.status, 200)
    const { data } = (await reply.json()) as { data: { id: string; branch: string } }
    assert.equal(data.branch, "v1")
    assert.equal((await over(world, data.id)).commit_sha, first)
  })

  await t.test("nothing leads out of the repository: neither names nor links", async () => {
    const folder = await server.repository("evil", { Dockerfile: DOCKERFILE })
    const put = (type: string, content: string | Buffer) =>
      git(folder, ["hash-object", "-t", type, "-w", "--literally", "--stdin"], content)
    const entry = (mode: string, name: string, oid: string) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")])
    const blob = put("blob", DOCKERFILE)
    const link = put("blob", join(p.config.dataDir ?? "/tmp"))
    const inner = put("tree", entry("100644", "written", blob))
    const attempts: (readonly [readonly Buffer[], RegExp])[] = [
      [[entry("40000", "..", inner)], /is called "\.\."/],
      [[entry("100644", "../x", blob)], /is called/],
      [[entry("40000", ".GIT", inner)], /is called/],
      [[entry("120000", "a", link), entry("40000", "a", inner)], /a name twice/],
      [[entry("120000", "a", link), entry("100644", "a", blob)], /a name twice/],
      [[entry("120000", "Dockerfile", put("blob", "/etc/passwd"))], /no Dockerfile/],
    ]
    for (const [entries, reason] of attempts) {
      const tree = put("tree", Buffer.concat([...entries]))
      const commit = git(folder, ["commit-tree", tree, "-m", "evil"])
      git(folder, ["update-ref", "refs/heads/evil", commit])
      const done = await build({ repository: `${server.url}/evil`, branch: "evil" })
      assert.match(done.status_reason ?? "it was built", reason)
    }
  })
})
