/** Control+K: pages and operations by title, id or path, without the mouse. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react"
import { titleOf } from "../derived/labels.ts"
import { allAreas, allOperations } from "../derived/manifest.ts"
import { go, href } from "../router.ts"
import { screens } from "../screens/screens.ts"
import { Modal } from "../ui/modal.tsx"

interface Entry {
  readonly id: string
  readonly title: string
  readonly note: string
  readonly path: string
  /** In lower case: what is searched. */
  readonly text: string
}

const SHOWN_MAX = 40

const entries = (): readonly Entry[] => [
  { id: "page-overview", title: "Overview", note: "page", path: "", text: "overview home start" },
  ...screens.map(({ path, title, words }) => ({
    id: `page-screen-${path}`,
    title,
    note: "page",
    path,
    text: `${title} ${path} ${words}`.toLowerCase(),
  })),
  ...allAreas().map(({ name, title, summary }) => ({
    id: `page-${name}`,
    title,
    note: "area",
    path: `areas/${name}`,
    text: `${title} ${name} ${summary}`.toLowerCase(),
  })),
  ...allOperations().map(({ id, summary, method, path }) => ({
    id: `operation-${id}`,
    title: titleOf(summary),
    note: `${method} ${path}`,
    path: `api/${id}`,
    text: `${summary} ${id} ${path} ${method}`.toLowerCase(),
  })),
]

/** Better is higher: each word must be in it; in the title, and at its beginning, counts more. */
const scoreOf = ({ title, text }: Entry, words: readonly string[]): number => {
  let score = 0
  const head = title.toLowerCase()
  for (const word of words) {
    if (!text.includes(word)) return 0
    score += 1 + (head.includes(word) ? 2 : 0) + (head.startsWith(word) ? 3 : 0)
  }
  return score + 1 / (1 + title.length)
}

export const find = (all: readonly Entry[], query: string): readonly Entry[] => {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== "")
  if (words.length === 0) return all.slice(0, SHOWN_MAX)
  return all
    .map(entry => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, SHOWN_MAX)
    .map(({ entry }) => entry)
}

const stepOf = (key: string): number => (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0)

export const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const all = useMemo(entries, [])
  const [query, setQuery] = useState("")
  const [at, setAt] = useState(0)
  const found = useMemo(() => find(all, query), [all, query])
  const list = useRef<HTMLDivElement>(null)
  const active = found[Math.min(at, found.length - 1)]

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is active says what must be seen
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" })
  }, [active])

  const open = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    go(href(entry.path))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = stepOf(event.key)
    if (step !== 0) {
      event.preventDefault()
      setAt(known => Math.max(0, Math.min(found.length - 1, known + step)))
    } else if (event.key === "Enter") {
      event.preventDefault()
      open(active)
    }
  }
  return (
    <Modal label="Go to" onClose={onClose} className="palette">
      <input
        role="combobox"
        aria-label="Find a page or an operation"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={active?.id}
        placeholder="Find a page or an operation"
        autoComplete="off"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the dialog has this one field
        autoFocus
        value={query}
        onChange={event => {
          setQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {found.map(entry => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox
          <div
            key={entry.id}
            id={entry.id}
            role="option"
            aria-selected={entry === active}
            onClick={() => open(entry)}
          >
            <span>{entry.title}</span>
            <code>{entry.note}</code>
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p className="soft" role="status">
          Nothing has all of these words.
        </p>
      )}
    </Modal>
  )
}
