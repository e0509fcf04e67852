// @ts-check
// What was typed and not sent: prompts, and texts in cards that ask. It is kept for this tab, so that it outlasts a view that
// is built anew, and a login that leads away from the page.
const KEY = 'haft-drafts'

/** @type {Map<string, any>} */
const drafts = new Map(JSON.parse(sessionStorage.getItem(KEY) ?? '[]'))

/** The draft of this name, which is kept no longer. @param {string} name */
export function takeDraft(name) {
  const draft = drafts.get(name)
  keepDraft(name, undefined)
  return draft
}

/** Keeps a draft, or nothing of this name. @param {string} name @param {any} draft a JSON value */
export function keepDraft(name, draft) {
  if (draft === undefined) drafts.delete(name)
  else drafts.set(name, draft)
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...drafts]))
  } catch { /* A browser that keeps no more of it has it until the page is left. */ }
}

/** Another person may log in next. */
export function forgetDrafts() {
  drafts.clear()
  sessionStorage.removeItem(KEY)
}
