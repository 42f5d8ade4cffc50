/**
 * CodeMirror inside a shadow root: there it adopts its style sheets, where in the document it would need style elements,
 * which the page's policy refuses.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands"
import { PostgreSQL, sql } from "@codemirror/lang-sql"
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language"
import { Compartment, EditorState } from "@codemirror/state"
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view"
import { tags } from "@lezer/highlight"
import { type RefObject, useEffect, useRef } from "react"
import { type Statement, statementAt } from "./statements.ts"

/** Tables, each with its columns, for the completion. */
export type Known = Readonly<Record<string, readonly string[]>>

export interface Editor {
  readonly text: () => string
  readonly setText: (text: string) => void
  readonly insert: (text: string) => void
  /** What is selected, else the statement at the cursor. */
  readonly chosen: () => Statement | undefined
  /** Puts the cursor where the database found a mistake. */
  readonly show: (position: number) => void
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.comment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--violet)" },
])

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--ground)", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--raised)", outline: "1px solid var(--control)" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-tooltip": {
    backgroundColor: "var(--ground)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-ground)",
    color: "#fff",
  },
})

const chosenIn = ({ state }: EditorView): Statement | undefined => {
  const { from, to, empty, head } = state.selection.main
  const text = state.doc.toString()
  return empty ? statementAt(text, head) : { sql: text.slice(from, to), from, to }
}

const handleOf = (view: EditorView): Editor => ({
  text: () => view.state.doc.toString(),
  setText: text => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    view.focus()
  },
  insert: text => {
    view.dispatch(view.state.replaceSelection(text))
    view.focus()
  },
  chosen: () => chosenIn(view),
  show: position => {
    view.dispatch({ selection: { anchor: Math.min(position, view.state.doc.length) }, scrollIntoView: true })
    view.focus()
  },
})

/**
 * Where a selection is typed over, Chromium keeps its look by a style attribute, which the page's policy refuses. Brackets go
 * around what is selected, so they are left to their own handler.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || !event.data || view.state.selection.main.empty) return false
    if (/^[([{'"]$/.test(event.data)) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true })
    return true
  },
})

const language = new Compartment()
const languageOf = (known: Known) =>
  sql({ dialect: PostgreSQL, schema: known as Record<string, string[]>, upperCaseKeywords: true })

const openEditor = (
  host: HTMLElement,
  initial: string,
  told: { readonly run: () => void; readonly changed: (text: string) => void },
): EditorView => {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" })
  shadow.replaceChildren()
  return new EditorView({
    parent: shadow,
    root: shadow,
    state: EditorState.create({
      doc: initial,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion(),
        highlightActiveLine(),
        typedOver,
        EditorView.lineWrapping,
        placeholder("SELECT …"),
        language.of(languageOf({})),
        syntaxHighlighting(colours),
        look,
        EditorView.contentAttributes.of({ "aria-label": "SQL" }),
        EditorView.updateListener.of(update => {
          if (update.docChanged) told.changed(update.state.doc.toString())
        }),
        keymap.of([
          {
            key: "Mod-Enter",
            run: () => {
              told.run()
              return true
            },
          },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          // Escape, then Tab, leaves the editor by keyboard.
          indentWithTab,
        ]),
      ],
    }),
  })
}

export const SqlEditor = ({
  initial,
  known,
  editor,
  onRun,
  onChange,
}: {
  readonly initial: string
  readonly known: Known
  readonly editor: RefObject<Editor | null>
  readonly onRun: () => void
  readonly onChange: (text: string) => void
}) => {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const told = useRef({ run: onRun, changed: onChange })
  told.current = { run: onRun, changed: onChange }
  // biome-ignore lint/correctness/useExhaustiveDependencies: later texts come through the editor itself
  useEffect(() => {
    if (!host.current) return
    const opened = openEditor(host.current, initial, {
      run: () => told.current.run(),
      changed: text => told.current.changed(text),
    })
    view.current = opened
    editor.current = handleOf(opened)
    return () => {
      editor.current = null
      opened.destroy()
    }
  }, [])
  useEffect(() => {
    view.current?.dispatch({ effects: language.reconfigure(languageOf(known)) })
  }, [known])
  return <div className="sql-text" ref={host} />
}
