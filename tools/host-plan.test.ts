import assert from "node:assert/strict"
import { test } from "node:test"
import {
  installedIn,
  kernelFilesIn,
  kernelOf,
  offeredIn,
  osOf,
  packageFor,
  planOf,
  wantedOf,
} from "./host-plan.ts"

test("Debian, Ubuntu and what is like them are told by os-release, and nothing else is taken for them", () => {
  const debian = osOf('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n')
  assert.deepEqual(debian, { name: "Debian GNU/Linux 12 (bookworm)", family: "debian" })
  assert.equal(osOf("ID=ubuntu\nID_LIKE=debian\n").family, "ubuntu")
  assert.equal(osOf('ID=linuxmint\nID_LIKE="ubuntu debian"\n').family, "ubuntu")
  assert.equal(osOf("ID=raspbian\nID_LIKE=debian\n").family, "debian")
  assert.equal(osOf('ID=fedora\nPRETTY_NAME="Fedora 42"\n').family, "other")
  assert.deepEqual(osOf(undefined), { name: "this system", family: "other" })
})

test("each package is wanted once, for all that use it", () => {
  assert.deepEqual(
    wantedOf([
      ["gvisor", ["runsc", "e2fsprogs"]],
      ["process", ["e2fsprogs"]],
    ]),
    [
      { name: "runsc", users: ["gvisor"] },
      { name: "e2fsprogs", users: ["gvisor", "process"] },
    ],
  )
})

test("what is there is left alone, what is offered is installed, and what a distribution lacks is named", () => {
  const wanted = wantedOf([["x", ["runsc", "bubblewrap", "e2fsprogs"]]])
  const plan = planOf(wanted, {
    installed: installedIn("e2fsprogs installed\nbubblewrap config-files\nrunsc not-installed\n"),
    offered: offeredIn(
      "bubblewrap:\n  Installed: (none)\n  Candidate: 0.8.0-2\n  Version table:\n     0.8.0-2 500\nrunsc:\n  Installed: (none)\n  Candidate: (none)\n",
    ),
  })
  const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)
  assert.deepEqual([plan.present, plan.install, plan.lacking].map(namesOf), [
    ["e2fsprogs"],
    ["bubblewrap"],
    ["runsc"],
  ])
})

test("packages and kernels have the names of their system and processor", () => {
  assert.equal(packageFor("qemu-system-x86", "arm64"), "qemu-system-arm")
  assert.equal(packageFor("qemu-system-x86", "x64"), "qemu-system-x86")
  assert.equal(kernelOf("debian", "x64"), "linux-image-cloud-amd64")
  assert.equal(kernelOf("debian", "arm64"), "linux-image-cloud-arm64")
  assert.equal(kernelOf("other", "x64"), undefined)
  assert.deepEqual(kernelFilesIn("linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n"), [
    "linux-image-6.1.0-56-cloud-amd64",
  ])
  assert.deepEqual(
    kernelFilesIn("linux-image-virtual\n  Depends: linux-image-6.8.0-1-generic\n  Depends: linux-base\n"),
    ["linux-image-6.8.0-1-generic", "linux-modules-6.8.0-1-generic"],
  )
  assert.deepEqual(kernelFilesIn(""), [])
})
