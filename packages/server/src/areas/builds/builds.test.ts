/** Builds from uploaded folders that need no workload: what is refused, what is copied, what is remembered. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { gzipSync } from "node:zlib"
import { sql } from "kysely"
import { tarOf } from "../../services/images/testing/tar.ts"
import { everyScope } from "../../testing/platform.ts"
import { build, buildWorld, built, folderOf, logOf, pull, tenantOf } from "./testing/world.ts"

test("builds without a workload", async t => {
  const world = await buildWorld(t)
  const { p, svc, secret, projectId } = world

  const send = async (body: Buffer | undefined, query = "", type = "application/gzip") => {
    const reply = await p.request(`/v1/build/upload${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": type },
      ...(body && { body: body as Buffer<ArrayBuffer> }),
    })
    const { code } = (await reply.json()) as { code?: string }
    return `${reply.status} ${code}`
  }

  await t.test("an upload that is no archive is refused, and nothing is queued", async () => {
    const good = folderOf({ Dockerfile: "FROM scratch" })
    assert.equal(await send(undefined), "400 upload_empty")
    assert.equal(await send(randomBytes(2_000)), "400 upload_not_gzip")
    assert.equal(await send(gzipSync(randomBytes(2_000))), "400 upload_not_gzip")
    assert.equal(await send(gzipSync("short")), "400 upload_not_gzip")
    for (const args of ["[1]", "{", '{"A":1}', '{"A B":"x"}', '"x"'])
      assert.equal(
        await send(good, `?build_args=${encodeURIComponent(args)}`),
        "400 invalid_build_args",
        args,
      )
    assert.equal(await send(good, "?platform=windows/amd64"), "400 invalid_parameter")
    assert.equal(await send(good, "?dockerfile_path=../x"), "400 invalid_parameter")
    assert.equal(await send(good, "", "multipart/form-data; boundary=x"), "400 upload_not_gzip")
    assert.equal((await svc.builds.list()).total, 0)
  })

  await t.test("a project has a hundred builds that are not done, and no more", async () => {
    const busy = await p.tenant("busy")
    await sql`
      INSERT INTO builds.builds (organization_id, project_id, id, status, source, image_repository, image_tag, build_args,
        build_args_shown, no_cache, timeout_seconds, created_at, updated_at)
      SELECT ${busy.organizationId}::uuid, ${busy.projectId}::uuid, gen_random_uuid(), 'QUEUED', 'upload', 'app', '1', '',
        '{}', false, 600, now(), now() FROM generate_series(1, 100)`.execute(p.database.db)
    const { secret: held } = await p.key("busy", everyScope)
    const refusal = { status: 402, code: "plan_limit_reached" }
    await assert.rejects(p.as(held).builds.create({ repository: "octocat/Hello-World" }), refusal)
    const upload = await p.request("/v1/build/upload", {
      method: "POST",
      headers: { authorization: `Bearer ${held}`, "content-type": "application/gzip" },
      body: folderOf({ Dockerfile: "FROM scratch" }) as Buffer<ArrayBuffer>,
    })
    assert.equal(upload.status, 402)
  })

  await t.test(
    "a folder becomes an image in the project's registry, with what the Dockerfile says",
    async () => {
      const dockerfile = [
        "# syntax=docker/dockerfile:1",
        "ARG TAG=none",
        "FROM scratch AS first",
        "ARG GREETING=hi",
        "COPY src/ /out/",
        "FROM scratch",
        "ARG TAG",
        "ARG EXTRA=$" + "{TAG:-none}-x",
        "LABEL tag=$TAG extra=\"$EXTRA\" quoted='$TAG'",
        "ENV A=1 B=$" + "{A:+two}",
        "WORKDIR /app/./data",
        "COPY --from=first --chown=7:8 /out/ ./",
        'COPY --chmod=0750 ["one file", "/bin/tool"]',
        "COPY <<EOF /etc/note",
        "tag is $TAG",
        "EOF",
        "EXPOSE 80 90-91/udp",
        "VOLUME /data",
        "USER 1000:1000",
        "STOPSIGNAL SIGINT",
        "HEALTHCHECK --interval=1m30s --retries=2 CMD wget \\",
        "  # a comment between",
        "  localhost",
        'ENTRYPOINT ["/bin/tool"]',
        "CMD run $A",
      ].join("\n")
      const files = {
        ...{ Dockerfile: dockerfile, ".dockerignore": "**/*.log\n!src/keep.log\n" },
        ...{ "src/a.txt": "alpha", "src/deep/b.txt": "beta", "src/no.log": "no", "src/keep.log": "keep" },
        "one file": "#!/x",
      }
      const args = JSON.stringify({ TAG: "v9" })
      const done = await built(world, folderOf(files), { image_tag: "team/web:1.2", build_args: args })
      assert.match(done.image_ref ?? "", new RegExp(`^[^/]+/${projectId}/team/web@${done.image_digest}$`))
      assert.deepEqual([done.image_tag, done.source, done.cached_steps], ["team/web:1.2", "upload", 0])
      const { config, layers } = await pull(world, done)
      assert.deepEqual(config, {
        User: "1000:1000",
        ExposedPorts: { "80/tcp": {}, "90/udp": {}, "91/udp": {} },
        Env: ["A=1", "B="],
        Entrypoint: ["/bin/tool"],
        Cmd: ["/bin/sh", "-c", "run $A"],
        Volumes: { "/data": {} },
        WorkingDir: "/app/data",
        Labels: { tag: "v9", extra: "v9-x", quoted: "$TAG" },
        StopSignal: "SIGINT",
        Healthcheck: { Test: ["CMD-SHELL", "wget   localhost"], Interval: 9e10, Retries: 2 },
      })
      assert.deepEqual(layers, [
        ["app/ 755 0:0", "app/data/ 755 0:0"],
        ...[
          [
            "app/data/a.txt 644 7:8 alpha",
            "app/data/deep/ 755 7:8",
            "app/data/deep/b.txt 644 7:8 beta",
            "app/data/keep.log 644 7:8 keep",
          ],
        ],
        ["bin/ 755 0:0", "bin/tool 750 0:0 #!/x"],
        ["etc/ 755 0:0", "etc/note 644 0:0 tag is v9"],
      ])
      const first = await svc.builds.logs({ id: done.id, limit: 3 })
      assert.equal(first.logs[0]?.message, "step 1: FROM scratch")
      const rest = await svc.builds.logs({ id: done.id, cursor: first.next_cursor ?? "" })
      assert.match(rest.logs.at(-1)?.message ?? "", /^pushed team\/web:1\.2 as sha256:/)
      assert.equal(rest.status, "SUCCESS")
    },
  )

  await t.test(
    "a step that was built before is taken from then, by nobody else, and not after a change",
    async () => {
      const folder = (content: string) =>
        folderOf({ Dockerfile: "FROM scratch\nCOPY a /a\nCOPY b /b\n", a: "a", b: content })
      const first = await built(world, folder("b"))
      assert.equal((await built(world, folder("b"))).cached_steps, 2)
      assert.equal((await built(world, folder("c"))).cached_steps, 1)
      assert.equal((await built(world, folder("b"), { no_cache: true })).cached_steps, 0)
      const other = await tenantOf(p, "other")
      assert.equal((await built(other, folder("b"))).cached_steps, 0)
      assert.equal((await other.svc.builds.list()).total, 1)
      for (const ask of [other.svc.builds.get, other.svc.builds.logs, other.svc.builds.cancel])
        await assert.rejects(ask({ id: first.id }), { code: "build_not_found" })
    },
  )

  await t.test("an image of the project is a base, one of another project is not", async () => {
    const base = await built(
      world,
      folderOf({ Dockerfile: 'FROM scratch\nCOPY a /a\nENV X=1\nONBUILD COPY b /b\nCMD ["x"]', a: "a" }),
      { image_tag: "base:1" },
    )
    const child = folderOf({ Dockerfile: 'FROM base:1\nENTRYPOINT ["y"]', b: "b" })
    const done = await built(world, child)
    const { config, layers } = await pull(world, done)
    assert.deepEqual([config.Env, config.Entrypoint, config.Cmd], [["X=1"], ["y"], undefined])
    assert.deepEqual(layers, [["a 644 0:0 a"], ["b 644 0:0 b"]])
    const other = await tenantOf(p, "other")
    const theirs = await build(other, folderOf({ Dockerfile: `FROM ${base.image_ref}` }))
    assert.equal(theirs.status, "FAILURE")
  })

  await t.test("nothing leads out of the folder: not names, not links, not COPY", async () => {
    const attacks: (readonly [Buffer, RegExp])[] = [
      [gzipSync(tarOf({ path: "../evil", content: "x" })), /leads out/],
      [
        folderOf({ Dockerfile: "FROM scratch\nCOPY ../../etc/passwd /p\n" }),
        /leads out of the build's context/,
      ],
      [
        folderOf(
          { Dockerfile: "FROM scratch\nCOPY link /p\n" },
          { path: "link", type: "SymbolicLink", linkpath: "/etc/passwd" },
        ),
        /link is not there/,
      ],
      [
        folderOf(
          { Dockerfile: "FROM scratch\nCOPY up/etc/passwd /p\n" },
          { path: "up", type: "SymbolicLink", linkpath: "../../../.." },
        ),
        /is not there/,
      ],
      [folderOf({}, { path: "Dockerfile", type: "SymbolicLink", linkpath: "/etc/passwd" }), /no Dockerfile/],
      [
        folderOf(
          { Dockerfile: "FROM scratch\nCOPY a /a\n" },
          { path: "a", type: "Link", linkpath: "/etc/passwd" },
        ),
        /links to/,
      ],
      [folderOf({ Dockerfile: `FROM scratch\n#${"x".repeat(1024 ** 2)}` }), /larger than 1 MiB/],
      [
        folderOf({
          Dockerfile: `FROM scratch\nLABEL a=${"\u0024{A:-".repeat(12)}x${"}".repeat(12)}\n`,
        }),
        /nested too deep/,
      ],
      [folderOf({ Dockerfile: "FROM scratch\nFETCH x\n" }), /line 2: FETCH is no instruction/],
      [folderOf({ Dockerfile: "FROM 127.0.0.1:1/a\n" }), /not pulled from 127\.0\.0\.1:1 here/],
      [folderOf({ Dockerfile: "FROM scratch\nADD http://169.254.169.254/latest /x\n" }), /cannot be fetched/],
      [folderOf({ readme: "x" }), /no Dockerfile, and nothing that tells/],
    ]
    for (const [folder, reason] of attacks) {
      const done = await build(world, folder)
      assert.equal(done.status, "FAILURE")
      assert.match(done.status_reason ?? "", reason)
    }
  })

  await t.test("secrets of a build are masked wherever it is shown", async () => {
    const args = { NPM_TOKEN: "s3cret-4711", MODE: "open" }
    const folder = folderOf({ Dockerfile: "FROM scratch\nARG NPM_TOKEN\nCOPY $NPM_TOKEN /x\n" })
    const done = await build(world, folder, { build_args: JSON.stringify(args) })
    assert.deepEqual(done.build_args, { NPM_TOKEN: "***", MODE: "open" })
    const shown = `${JSON.stringify(done)} ${await logOf(world, done.id)}`
    assert.match(shown, /\*\*\* is not there/)
    assert.doesNotMatch(shown, /s3cret/)
  })

  await t.test("a step that must run says which setting is missing where nothing can run it", async () => {
    const done = await build(world, folderOf({ Dockerfile: "FROM scratch\nRUN true\n" }))
    assert.equal(done.status, "FAILURE")
    assert.match(done.status_reason ?? "", /SVC_RUNTIME=bubblewrap/)
  })

  await t.test("one that is over stays as it is when it is cancelled", async () => {
    const done = await built(world, folderOf({ Dockerfile: "FROM scratch\nCOPY a /a\n", a: "a" }))
    assert.equal((await svc.builds.cancel({ id: done.id })).status, "SUCCESS")
    assert.ok((await svc.builds.list({ status: "success" })).total > 0)
  })
})
