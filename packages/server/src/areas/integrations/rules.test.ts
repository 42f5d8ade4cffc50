import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import {
  differencesOf,
  matchesGlob,
  noveltyOf,
  passesBranches,
  passesPaths,
  repositoryProblem,
} from "./rules.ts"

test("globs take in what they say", () => {
  const cases: readonly [string, string, boolean][] = [
    ["main", "main", true],
    ["main", "main2", false],
    ["release/*", "release/1.0", true],
    ["release/*", "release/1/0", false],
    ["release/**", "release/1/0", true],
    ["*", "feature/x", false],
    ["**", "feature/x", true],
    ["v?", "v1", true],
    ["v?", "v/", false],
    ["**/test.ts", "test.ts", true],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["*.ts", "a.ts", true],
    ["*.ts", "a.tsx", false],
    ["[a]", "[a]", true],
    ["a.b", "axb", false],
    ["", "", true],
  ]
  for (const [glob, text, isMatch] of cases) assert.equal(matchesGlob(glob, text), isMatch, `${glob} ${text}`)
})

/** What a glob without a slash in `**​/` means, said as a regular expression. */
const asRegExp = (glob: string): RegExp => {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
  const parts = escaped.split(/(\*+|\?)/).map(part => {
    if (part === "?") return "[^/]"
    return part.startsWith("**") ? "[^]*" : part === "*" ? "[^/]*" : part
  })
  return new RegExp(`^${parts.join("")}$`, "u")
}

test("globs agree with regular expressions", () => {
  const glob = fc
    .array(fc.constantFrom("a", "b", "/", "*", "**", "?", "."), { maxLength: 8 })
    .map(parts => parts.join(""))
  const text = fc.array(fc.constantFrom("a", "b", "/", "."), { maxLength: 10 }).map(parts => parts.join(""))
  fc.assert(
    fc.property(glob, text, (pattern, candidate) => {
      // `**/` may be nothing at all, which the expression does not say.
      fc.pre(!pattern.includes("**/"))
      assert.equal(matchesGlob(pattern, candidate), asRegExp(pattern).test(candidate))
    }),
    { numRuns: 2_000 },
  )
})

test("no glob takes long, whatever it is held against", () => {
  const glob = `${"*a?*".repeat(60)}b`
  assert.equal(matchesGlob(glob, "a".repeat(1_024)), false)
  assert.equal(matchesGlob("**a".repeat(80), `${"a".repeat(1_000)}b`), false)
})

test("without filters every branch passes and no tag; a tag passes by a filter of its own", () => {
  assert.equal(passesBranches([], "refs/heads/any"), true)
  assert.equal(passesBranches([], "refs/tags/v1"), false)
  assert.equal(passesBranches(["main"], "refs/heads/topic"), false)
  assert.equal(passesBranches(["main", "refs/tags/v*"], "refs/tags/v1"), true)
  assert.equal(passesBranches(["refs/tags/v*"], "refs/heads/main"), true)
})

test("a push passes by one file that is included and not excluded, or where nobody knows its files", () => {
  const docs = { include: [], exclude: ["docs/**"] }
  assert.equal(passesPaths(docs, ["docs/a.md"]), false)
  assert.equal(passesPaths(docs, ["docs/a.md", "src/a.ts"]), true)
  assert.equal(passesPaths(docs, null), true)
  assert.equal(passesPaths({ include: ["src/**"], exclude: [] }, ["README.md"]), false)
  assert.equal(passesPaths({ include: [], exclude: [] }, []), true)
})

test("pushes that are told twice, late, in another order, or found first by looking, are new once each", () => {
  type Step = [
    head: string | undefined,
    before: string | null,
    commit: string,
    recorded: [string | null, string][],
    is: string,
  ]
  const steps: Step[] = [
    [undefined, null, "a", [], "new"],
    ["a", "a", "b", [], "new"],
    ["b", "a", "b", [["a", "b"]], "known"],
    // Found by looking as a → c; told afterwards as a → b and b → c.
    ["c", "a", "b", [["a", "c"]], "late"],
    ["c", "b", "c", [["a", "c"]], "known"],
    // b → c was told before a → b.
    ["c", "a", "b", [["b", "c"]], "late"],
    // Back to where it was, and captured bodies sent again.
    ["b", "b", "a", [["a", "b"]], "new"],
    [
      "c",
      "a",
      "b",
      [
        ["b", "c"],
        ["a", "b"],
      ],
      "late",
    ],
    [
      "c",
      "c",
      "b",
      [
        ["b", "c"],
        ["a", "b"],
      ],
      "new",
    ],
    ["a", "a", "b", [["a", "b"]], "known"],
    // There and back, and there again.
    [
      "a",
      "a",
      "b",
      [
        ["b", "a"],
        ["a", "b"],
      ],
      "new",
    ],
    // Back, though nobody told how it had left.
    [
      "d",
      "d",
      "b",
      [
        ["c", "d"],
        ["a", "b"],
      ],
      "new",
    ],
    // Something in between was never told.
    ["b", "x", "y", [["a", "b"]], "new"],
  ]
  for (const [head, before, commit, recorded, is] of steps) {
    const moves = recorded.map(([from, to]) => ({ before: from, commit: to }))
    assert.equal(noveltyOf(head, { before, commit }, moves), is, JSON.stringify([head, before, commit]))
  }
})

test("a history of pushes builds each commit once, in whatever order and how often it is told", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 40 }), told => {
      let head: string | undefined = "0"
      const recorded: { before: string | null; commit: string }[] = []
      for (const number of told) {
        const move = { before: String(number - 1), commit: String(number) }
        if (noveltyOf(head, move, recorded) !== "new") continue
        recorded.unshift(move)
        head = move.commit
      }
      const commits = recorded.map(({ commit }) => commit)
      assert.equal(new Set(commits).size, commits.length)
    }),
  )
})

test("a look finds what changed, and nothing that was heard of since it began", () => {
  const startedAt = new Date(1_000)
  const known = new Map(
    [
      ["same", "a", 0],
      ["moved", "b", 0],
      ["heard", "c", 1_000],
      ["gone", "d", 0],
      ["made", "e", 1_000],
    ].map(([name, commit, at]) => {
      const ref = `refs/heads/${name}`
      return [ref, { ref, commit: String(commit), knownAt: new Date(Number(at)) }]
    }),
  )
  known.set("refs/tags/v1", { ref: "refs/tags/v1", commit: "t", knownAt: new Date(0) })
  const heads = new Map([
    ["same", "a"],
    ["moved", "B"],
    ["heard", "old"],
    ["fresh", "f"],
  ])
  const fresh = { ref: "refs/heads/fresh", commit: "f" }
  const moved = { ref: "refs/heads/moved", commit: "B", commitBefore: "b" }
  const gone = ["refs/heads/gone"]
  assert.deepEqual(differencesOf(known, heads, { isFirst: true, startedAt }), {
    ...{ baseline: [fresh], pushes: [moved], gone },
  })
  assert.deepEqual(differencesOf(known, heads, { isFirst: false, startedAt }), {
    ...{ baseline: [], pushes: [moved, { ...fresh, commitBefore: null }], gone },
  })
})

test("names of repositories cannot lead a request elsewhere", () => {
  for (const name of ["a/..", "../a", "a/b?x", "a/b#x", "a/b c", "a\\b/c", "a/b%2f", "a//b", "/a/b", "a/b/"])
    for (const provider of ["github", "gitlab", "bitbucket", "gitea"] as const)
      assert.ok(repositoryProblem(provider, name), `${provider} ${name}`)
  assert.equal(repositoryProblem("gitlab", "group/sub/name"), undefined)
  assert.equal(repositoryProblem("github", "owner/na.me_1-2"), undefined)
})
