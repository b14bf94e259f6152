/* page.js - sorts and filters the tables, steps through diagrams, sets two side by side. The page is whole without it. */
(function () {
  'use strict';

  var matrices = Array.prototype.slice.call(document.querySelectorAll('table.matrix'));
  var stress = document.getElementById('stress');
  var form = document.getElementById('filter');
  var query = document.getElementById('query');
  var found = document.getElementById('found');

  /* --- sorting: a click on a column's head --- */

  function key(row, column) {
    var cell = row.cells[column];
    if (cell.tagName === 'TH') return cell.textContent.trim();
    return cell.hasAttribute('data-rank') ? Number(cell.getAttribute('data-rank')) : null;
  }

  /* Rows without a value in the column stay at the end in both directions. */
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === 'string' ? a.localeCompare(b) : a - b);
  }

  function sort(table, head, column) {
    var heads = head.parentNode.cells;
    var before = head.getAttribute('aria-sort');
    var isText = column === 0;
    var direction = before === null ? (isText ? 'ascending' : 'descending')
      : before === 'ascending' ? 'descending' : 'ascending';
    for (var i = 0; i < heads.length; i++) heads[i].removeAttribute('aria-sort');
    head.setAttribute('aria-sort', direction);
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      return compare(key(a, column), key(b, column), direction === 'ascending' ? 1 : -1);
    });
    rows.forEach(function (row) { body.appendChild(row); });
  }

  function makeSortable(table) {
    if (!table) return;
    var heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.title = 'Sort by this column';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () { sort(table, head, column); });
    });
  }

  /* --- the filter: rows, columns and details with a match stay --- */

  function words(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  function matches(text, wanted) {
    var low = text.toLowerCase();
    return wanted.every(function (word) { return low.indexOf(word) >= 0; });
  }

  function cellText(row, cell) {
    var link = cell.querySelector('a');
    return row.cells[0].textContent + ' ' + cell.getAttribute('data-scheme') + ' ' +
      link.textContent + ' ' + link.title;
  }

  function headsOf(matrix) {
    return matrix.tHead.rows[matrix.tHead.rows.length - 1];
  }

  /* A table of one lock has no sides. */
  function spanSides(matrix, columns) {
    if (matrix.tHead.rows.length < 2) return;
    var sides = matrix.tHead.rows[0].cells;
    for (var i = 1; i < sides.length; i++) {
      var count = 0;
      var name = sides[i].classList.contains('naive') ? 'naive' : 'safe';
      var heads = headsOf(matrix).cells;
      for (var c = 1; c < heads.length; c++)
        count += heads[c].classList.contains(name) && columns[c];
      sides[i].hidden = count === 0;
      sides[i].colSpan = Math.max(count, 1);
    }
  }

  function filterMatrix(matrix, wanted) {
    var columns = [true];
    var rows = Array.prototype.slice.call(matrix.tBodies[0].rows);
    var count = 0;
    rows.forEach(function (row) {
      var has = false;
      for (var c = 1; c < row.cells.length; c++) {
        var cell = row.cells[c];
        if (cell.classList.contains('none')) continue;
        var hit = matches(cellText(row, cell), wanted);
        cell.classList.toggle('dim', !hit);
        has = has || hit;
        columns[c] = columns[c] || hit;
        count += hit;
      }
      row.hidden = !has;
    });
    rows.concat([headsOf(matrix)]).forEach(function (row) {
      for (var c = 1; c < row.cells.length; c++) row.cells[c].hidden = !columns[c];
    });
    spanSides(matrix, columns);
    return count;
  }

  function filterStress(wanted) {
    var count = 0;
    Array.prototype.forEach.call(stress.tBodies[0].rows, function (row) {
      row.hidden = !matches('stress ' + row.textContent, wanted);
      count += !row.hidden;
    });
    return count;
  }

  function filterDetails(wanted) {
    document.querySelectorAll('section.scenario').forEach(function (section) {
      var has = false;
      section.querySelectorAll('article').forEach(function (article) {
        var head = article.querySelector('h3').textContent + ' ' + article.querySelector('.badges').textContent;
        article.hidden = !matches(section.getAttribute('data-scenario') + ' ' + head + ' ' + article.id, wanted);
        has = has || !article.hidden;
      });
      section.querySelectorAll('.finding').forEach(function (finding) {
        var shown = finding.querySelectorAll('article:not([hidden])');
        var same = finding.querySelector('details.same');
        finding.hidden = shown.length === 0;
        if (same) same.open = wanted.length > 0 && same.querySelector('article:not([hidden])') !== null;
      });
      section.hidden = !has;
    });
    document.querySelectorAll('.fold').forEach(function (fold) {
      fold.querySelectorAll('details.one').forEach(function (line) {
        line.hidden = line.querySelector('section.scenario').hidden;
      });
      fold.hidden = !fold.querySelector('details.one:not([hidden])');
      if (fold.tagName === 'DETAILS') fold.open = wanted.length > 0 && !fold.hidden;
    });
  }

  function filter() {
    var wanted = words(query.value);
    var count = 0;
    matrices.forEach(function (matrix) { count += filterMatrix(matrix, wanted); });
    if (stress) count += filterStress(wanted);
    filterDetails(wanted);
    found.textContent = wanted.length ? (count === 1 ? '1 result' : count + ' results') : '';
  }

  /* --- a link into the details shows the timeline there, whatever the filter hides --- */

  function reveal() {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || target.tagName !== 'ARTICLE') return;
    for (var node = target; node; node = node.parentElement) {
      node.hidden = false;
      if (node.tagName === 'DETAILS') node.open = true;
    }
    var timeline = target.querySelector('details');
    if (timeline) timeline.open = true;
    target.scrollIntoView();
  }

  /* --- stepping through a diagram: what comes later is veiled --- */

  var told = document.createElement('output'); /* says the step to those who do not see it */
  told.className = 'unseen';
  document.body.appendChild(told);

  function stepsOf(svg) {
    return Array.prototype.slice.call(svg.querySelectorAll('.step'));
  }

  function wordsOf(step) {
    var texts = step.querySelectorAll('text');
    return texts[0].textContent + ' ms: ' + texts[1].textContent;
  }

  function goTo(svg, at) {
    var veil = svg.querySelector('.veil');
    stepsOf(svg).forEach(function (step, i) { step.classList.toggle('at', i === at); });
    if (at < 0) {
      if (veil) veil.remove();
      return;
    }
    if (!veil) {
      veil = document.createElementNS(svg.namespaceURI, 'rect');
      veil.setAttribute('class', 'veil');
      veil.setAttribute('width', '100%');
      svg.appendChild(veil);
    }
    var step = stepsOf(svg)[at];
    var reach = step.querySelector('.reach');
    var y = Number(reach.getAttribute('y')) + Number(reach.getAttribute('height'));
    veil.setAttribute('y', y);
    veil.setAttribute('height', Math.max(0, svg.viewBox.baseVal.height - y));
    step.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    told.textContent = wordsOf(step);
  }

  function press(event) {
    var svg = event.target.matches && event.target.matches('.scroll') && event.target.querySelector('svg.timeline');
    if (!svg || event.ctrlKey || event.altKey || event.metaKey) return;
    var steps = stepsOf(svg);
    var at = steps.findIndex(function (step) { return step.classList.contains('at'); });
    var to = { ArrowDown: at + 1, ArrowUp: at < 0 ? steps.length - 1 : at - 1, Home: 0, End: steps.length - 1, Escape: -1 }[event.key];
    if (to === undefined || (event.key === 'Escape' && at < 0)) return;
    event.preventDefault();
    goTo(svg, Math.max(event.key === 'Escape' ? -1 : 0, Math.min(to, steps.length - 1)));
  }

  /* --- a sentence and its events: both are marked, whichever one points at --- */

  function diagramOf(node) {
    var scope = node.closest('.pane, article, .conclusion');
    return scope && scope.querySelector('svg.timeline');
  }

  function sentencesOf(svg) {
    var scope = svg.closest('.pane, article, .conclusion');
    return Array.prototype.slice.call(scope.querySelectorAll(':scope > ol.witness > li'));
  }

  function timesIn(sentence) {
    return sentence.textContent.match(/\d+\.\d+(?= ms)/g) || [];
  }

  function pair(svg, steps, sentences) {
    document.querySelectorAll('.paired').forEach(function (node) { node.classList.remove('paired'); });
    if (!svg) return;
    steps.concat(sentences).forEach(function (node) { node.classList.add('paired'); });
  }

  function point(event) {
    var node = event.target.closest ? event.target.closest('.step, ol.witness > li') : null;
    var svg = node && diagramOf(node);
    if (!svg) return pair(null);
    var isStep = node.classList.contains('step');
    if (!isStep && sentencesOf(svg).indexOf(node) < 0) return pair(null);
    var times = isStep ? [node.getAttribute('data-ms')] : timesIn(node);
    pair(svg, isStep ? [node] : stepsOf(svg).filter(function (step) { return times.indexOf(step.getAttribute('data-ms')) >= 0; }),
      isStep ? sentencesOf(svg).filter(function (li) { return timesIn(li).indexOf(times[0]) >= 0; }) : [node]);
  }

  function choose(event) {
    var step = event.target.closest ? event.target.closest('.step') : null;
    var region = step && step.closest('.scroll');
    if (!region) return;
    var svg = step.closest('svg');
    goTo(svg, stepsOf(svg).indexOf(step));
    region.focus({ preventScroll: true });
  }

  /* --- two runs side by side --- */

  var drawn = Array.prototype.slice.call(document.querySelectorAll('article')).filter(function (article) {
    return article.querySelector('svg.timeline');
  });
  var dialog = document.createElement('dialog');
  dialog.id = 'beside';
  dialog.setAttribute('aria-label', 'Two runs side by side');

  function nameOf(article) {
    return article.getAttribute('data-subject') + ', ' + article.getAttribute('data-scheme');
  }

  /* The same trouble for another lock, best of the other side; else one with a verdict, best of the same lock. */
  function partnerOf(article) {
    function likeness(other) {
      var same = function (name) { return article.getAttribute(name) === other.getAttribute(name); };
      if (other === article) return -1;
      if (same('data-subject') && !same('data-scheme')) return same('data-side') ? 3 : 4;
      return other.classList.contains('unknown') ? 0 : same('data-scheme') ? 2 : 1;
    }
    return drawn.reduce(function (best, other) { return likeness(other) > likeness(best) ? other : best; }, article);
  }

  function fill(pane, article) {
    var body = pane.querySelector('.body');
    var region = article.querySelector('figure .scroll').cloneNode(true);
    body.textContent = '';
    body.appendChild(article.querySelector('.badges').firstElementChild.cloneNode(true));
    body.appendChild(region);
    pane.querySelectorAll(':scope > ol').forEach(function (list) { list.remove(); });
    var sentences = article.querySelector(':scope > ol.witness');
    if (sentences) pane.appendChild(sentences.cloneNode(true));
    goTo(region.querySelector('svg'), -1);
  }

  function makePane(article) {
    var pane = document.createElement('div');
    var list = document.createElement('select');
    var body = document.createElement('div');
    pane.className = 'pane';
    body.className = 'body';
    list.setAttribute('aria-label', 'Which run');
    drawn.forEach(function (other, i) {
      var option = document.createElement('option');
      option.value = String(i);
      option.textContent = nameOf(other);
      option.selected = other === article;
      list.appendChild(option);
    });
    list.addEventListener('change', function () { fill(pane, drawn[Number(list.value)]); });
    pane.appendChild(list);
    pane.appendChild(body);
    fill(pane, article);
    return pane;
  }

  function setBeside(article) {
    pair(null);
    var close = document.createElement('button');
    close.type = 'button';
    close.className = 'close';
    close.textContent = 'Close';
    close.addEventListener('click', function () { dialog.close(); });
    dialog.textContent = '';
    dialog.appendChild(close);
    dialog.appendChild(makePane(article));
    dialog.appendChild(makePane(partnerOf(article)));
    dialog.showModal();
  }

  function offerBeside(article) {
    var button = document.createElement('button');
    button.type = 'button';
    button.className = 'set-beside';
    button.textContent = 'Set beside another';
    button.addEventListener('click', function () { setBeside(article); });
    article.querySelector('.badges').appendChild(button);
  }

  /* --- on paper what was found is open: of equal findings only the first, and not what held --- */

  function openForPaper() {
    document.querySelectorAll('details:not(.same):not([open])').forEach(function (part) {
      if (part.parentElement.closest('details:not([open]), article.holds')) return;
      part.setAttribute('data-was-closed', '');
      part.open = true;
    });
  }

  function closeAgain() {
    document.querySelectorAll('[data-was-closed]').forEach(function (part) {
      part.removeAttribute('data-was-closed');
      part.open = false;
    });
  }

  matrices.forEach(makeSortable);
  makeSortable(stress);
  form.hidden = false;
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  query.addEventListener('input', filter);
  window.addEventListener('hashchange', reveal);
  document.documentElement.classList.add('scripted');
  document.body.appendChild(dialog);
  if (drawn.length > 1) drawn.forEach(offerBeside);
  document.addEventListener('keydown', press);
  document.addEventListener('click', choose);
  document.addEventListener('mouseover', point);
  window.addEventListener('beforeprint', openForPaper);
  window.addEventListener('afterprint', closeAgain);
  reveal();
})();
