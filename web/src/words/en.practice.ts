// SPDX-License-Identifier: MIT
// The English words of "Practice", apart: they are loaded with the chapter.

export const enPractice = {
  label: 'practice: exercises without end',
  walk: 'the walk that leads to the answer; arrow keys step',
  level: 'level',
  levels: ['one path', 'a longer path', 'a node used twice', 'which mistake is it?', 'many paths', 'squares, halves and relu', 'longer graphs', 'the longest graphs'],
  levelName: (level: number, name: string) => `${level}: ${name}`,
  number: (n: number) => `exercise ${n}`,
  linked: 'an exercise from a link',
  score: (right: number, all: number) => `${right} of ${all} right at the first try`,
  goal: 'Two in a row that are right at the first try lead to the next level.',
  oneMore: 'One more that is right at the first try leads to the next level.',
  next: 'next exercise',
  skip: 'skip',
  up: (level: number) => `on to level ${level} →`,
  share: 'link to this exercise',
  address: 'the link to this exercise',
}
